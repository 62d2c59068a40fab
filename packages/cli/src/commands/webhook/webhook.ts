import type { Command } from 'commander';
import { type ServerOptions, withClient } from '../../connection/client.js';
import { table } from '../../terminal/format.js';
import { isWatched, paint, print, printJson, say } from '../../terminal/terminal.js';
import { addListen } from './listen.js';

type Options = ServerOptions & { json?: boolean };

export function addWebhook(program: Command): void {
  const webhook = program
    .command('webhook')
    .summary('say where events go, and receive them')
    .description("The account's webhook endpoint: one URL, one signing secret.");

  const subcommand = (name: string, summary: string, run: (options: Options) => Promise<void>) =>
    webhook
      .command(name)
      .summary(summary)
      .option('--json', "print the API's object")
      .action((_: unknown, command: Command) => run(command.optsWithGlobals()));

  webhook
    .command('set')
    .summary('send events to this https URL')
    .argument('<url>', 'an https URL')
    .option('--json', "print the API's object")
    .action((url: string, _: unknown, command: Command) => set(url, command.optsWithGlobals()));
  subcommand('get', 'show the URL and the secret', get);
  subcommand('delete', 'stop all deliveries', remove);
  subcommand('rotate', 'replace the secret; the old one stops working at once', rotate);
  subcommand('test', 'have a signed ping sent, about 10 seconds from now', test);
  addListen(webhook);
}

const set = (url: string, { json, ...options }: Options) =>
  withClient(options, async (client, signal) => {
    const endpoint = await client.webhookEndpoint.set(url, { signal });
    if (json) return printJson(endpoint);
    print(describe(endpoint));
    if (endpoint.secret) hint('Verify deliveries with this secret; `gen3d webhook get` shows it again');
  });

const get = ({ json, ...options }: Options) =>
  withClient(options, async (client, signal) => {
    const endpoint = await client.webhookEndpoint.get({ signal });
    if (json) printJson(endpoint);
    else print(describe(endpoint));
  });

const remove = (options: Options) =>
  withClient(options, async (client, signal) => {
    await client.webhookEndpoint.delete({ signal });
    hint('No more deliveries');
  });

const rotate = ({ json, ...options }: Options) =>
  withClient(options, async (client, signal) => {
    const answer = await client.webhookEndpoint.rotate({ signal });
    if (json) printJson(answer);
    else print(answer.secret);
  });

const test = ({ json, ...options }: Options) =>
  withClient(options, async (client, signal) => {
    const answer = await client.webhookEndpoint.test({ signal });
    if (json) printJson(answer);
    else hint('A signed ping arrives in about 10 seconds');
  });

const describe = ({ url, secret }: { url: string; secret?: string | undefined }) =>
  table([['url', url], ...(secret ? [['secret', secret]] : [])]);

function hint(line: string): void {
  if (isWatched()) say(paint('dim', line));
}
