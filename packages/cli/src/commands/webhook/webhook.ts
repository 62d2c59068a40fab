import type { PutWebhookEndpointResponse } from '@gen3d/schema';
import { describeHealth, type WebhookEvents, webhookEvents } from '@gen3d/schema/rules';
import { InvalidRequestError } from '@gen3d/sdk';
import { type Command, Option } from 'commander';
import { type ServerOptions, withClient } from '../../connection/client.js';
import { exitCode, Failed, withoutEndpoint } from '../../exit/failure.js';
import { table } from '../../terminal/format.js';
import { isInteractive, paint, print, printJson, say } from '../../terminal/terminal.js';
import { addListen } from './listen.js';

type Options = ServerOptions & { json?: boolean };

export function addWebhook(program: Command): void {
  const webhook = program
    .command('webhook')
    .summary('configure and receive webhooks')
    .description("Manage the account's webhook endpoint, which has one URL and one signing secret.");

  const subcommand = (name: string, summary: string, run: (options: Options) => Promise<void>) =>
    webhook
      .command(name)
      .summary(summary)
      .option('--json', "print the API's object")
      .action((_: unknown, command: Command) => run(command.optsWithGlobals()));

  webhook
    .command('set')
    .summary('set the https URL for events')
    .argument('<url>', 'an https URL')
    .addOption(
      new Option(
        '--events <which>',
        'final: only when a job ends; all: every change (default: as before, at first all)',
      ).choices(webhookEvents),
    )
    .option('--json', "print the API's object")
    .action((url: string, _: unknown, command: Command) => set(url, command.optsWithGlobals()));
  subcommand('get', 'show the URL and the secret', get);
  subcommand('delete', 'stop all deliveries', remove);
  subcommand('rotate', 'replace the secret; the old one stops working immediately', rotate);
  subcommand('test', 'send a signed ping in about 10 seconds', test);
  addListen(webhook);
}

const set = (url: string, { json, events, ...options }: Options & { events?: WebhookEvents }) =>
  withClient(options, async (client, signal) => {
    const endpoint = await client.webhookEndpoint
      .set(url, { ...(events && { events }), signal })
      .catch((error: unknown) => {
        if (!(error instanceof InvalidRequestError && error.status === 400)) throw error;
        const receiver = /^http:\/\//i.test(url) ? url : undefined;
        throw new Failed(exitCode.failed, `${error.message}. ${withoutEndpoint(receiver)}`, { cause: error });
      });
    if (json) return printJson(endpoint);
    print(describe(endpoint));
    if (endpoint.secret) hint('Verify deliveries with this secret. To show it again: gen3d webhook get');
  });

const get = ({ json, ...options }: Options) =>
  withClient(options, async (client, signal) => {
    const endpoint = await client.webhookEndpoint.get({ signal });
    if (json) return printJson(endpoint);
    print(describe(endpoint));
    const problem = describeHealth(endpoint, (iso) => iso);
    if (problem) say(`${problem}: gen3d webhook test`);
  });

const remove = (options: Options) =>
  withClient(options, async (client, signal) => {
    await client.webhookEndpoint.delete({ signal });
    hint('Deliveries have stopped');
  });

const rotate = ({ json, ...options }: Options) =>
  withClient(options, async (client, signal) => {
    const rotated = await client.webhookEndpoint.rotate({ signal });
    if (json) printJson(rotated);
    else print(rotated.secret);
  });

const test = ({ json, ...options }: Options) =>
  withClient(options, async (client, signal) => {
    const queued = await client.webhookEndpoint.test({ signal });
    if (json) printJson(queued);
    else hint('A signed ping arrives in about 10 seconds');
  });

const describe = ({ url, secret, events }: PutWebhookEndpointResponse) =>
  table([['url', url], ...(secret ? [['secret', secret]] : []), ...(events ? [['events', events]] : [])]);

function hint(line: string): void {
  if (isInteractive()) say(paint('dim', line));
}
