import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook, type WebhookEvent } from '@gen3d/sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ServerOptions, withClient } from '../../connection/client.js';
import { variable } from '../../connection/variable.js';
import { errorMessage } from '../../exit/failure.js';
import { aborted, interruptible } from '../../exit/interruption.js';
import { cross, print, printJson, say } from '../../terminal/terminal.js';
import { describeEvent, forwardEvents, secretOf } from './forward.js';

interface ListenOptions extends ServerOptions {
  readonly forwardTo?: URL;
  readonly host: string;
  readonly port: number;
  readonly secret?: string;
  readonly json?: boolean;
}

export function addListen(webhook: Command): void {
  webhook
    .command('listen')
    .summary('receive events on this machine, or forward them to your receiver')
    .description(
      'With --forward-to, get the events of this account from the server, sign them with a secret that is printed, ' +
        'and post them to your receiver, until Ctrl-C. This needs neither a webhook endpoint nor a tunnel. ' +
        'Each event is posted once, and the response is printed.\n' +
        'Without it, receive the deliveries to the webhook endpoint, verify their signatures and print them. ' +
        'The server delivers only to https URLs: run a tunnel to --port, and pass its URL to `gen3d webhook set`.',
    )
    .addOption(
      new Option('--forward-to <url>', 'post events to this URL, such as http://127.0.0.1:3000/hook')
        .argParser(receiverUrl)
        .conflicts(['host', 'port']),
    )
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 for any free port', port, 8788)
    .option(
      '--secret <secret>',
      'the signing secret, or NEW,OLD; default: GEN3D_WEBHOOK_SECRET, otherwise a secret that belongs to the API key ' +
        "and stays the same (with --forward-to) or the endpoint's current secret",
      notEmpty,
    )
    .option('--json', 'print each event as received, one per line')
    .action((_: unknown, command: Command) => listen(command.optsWithGlobals()));
}

function port(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= 65_535) return number;
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
}

function notEmpty(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It is empty. Check that its variable is set, or omit --secret.');
}

function receiverUrl(text: string): URL {
  const url = /^[^/]+:\d+(\/|$)/.test(text) ? `http://${text}` : text;
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return new URL(url);
  throw new InvalidArgumentError('It must be an http(s) URL such as http://127.0.0.1:3000/hook.');
}

async function listen({ forwardTo, host, port, secret, json, ...options }: ListenOptions): Promise<void> {
  // NEW,OLD during a rotation, as for the receivers of docs/webhooks.md.
  const [given, ...older] = (secret ?? variable('GEN3D_WEBHOOK_SECRET') ?? '').split(',').filter(Boolean);
  if (forwardTo) {
    return withClient(options, (client, signal, apiKey) =>
      forwardEvents(client, { forwardTo, secret: given ?? secretOf(apiKey), json }, signal),
    );
  }
  const secrets = given
    ? [given, ...older]
    : [(await withClient(options, (client, signal) => client.webhookEndpoint.get({ signal }))).secret];
  const server = createServer((request, response) => {
    receive(request, secrets).then(
      (event) => {
        if (json) printJson(event);
        else print(describeEvent(event));
        response.writeHead(204).end();
      },
      (error: unknown) => {
        const reason = errorMessage(error);
        say(`${cross()} Rejected ${request.method} ${request.url}: ${reason}`);
        // Closes the connection instead of reading the rest of a body that is too large.
        response.writeHead(400, { connection: 'close' }).end(reason);
      },
    );
  });
  await interruptible(async (signal) => {
    server.listen(port, host);
    await once(server, 'listening');
    say(`Listening on http://${host}:${(server.address() as AddressInfo).port} (Ctrl-C to stop)`);
    // Ctrl-C is the normal way to stop.
    await aborted(signal);
    server.close();
    server.closeAllConnections();
  });
}

/** Events have a few kilobytes, but anyone can send requests through a tunnel. */
const maxBodyBytes = 1024 ** 2;

const receive = async (request: IncomingMessage, secret: readonly string[]): Promise<WebhookEvent> =>
  verifyWebhook({ payload: await receivedBody(request), headers: request.headers, secret });

async function receivedBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    size += part.length;
    if (size > maxBodyBytes) throw new Error('The body is larger than 1 MiB');
    parts.push(part);
  }
  return Buffer.concat(parts);
}
