import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook, type WebhookEvent } from '@gen3d/sdk';
import { type Command, InvalidArgumentError } from 'commander';
import { type ServerOptions, withClient } from '../../connection/client.js';
import { explainPort } from '../../exit/failure.js';
import { aborted, interruptible } from '../../exit/interruption.js';
import { cross, print, printJson, say } from '../../terminal/terminal.js';

interface ListenOptions extends ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly secret?: string;
  readonly json?: boolean;
}

export function addListen(webhook: Command): void {
  webhook
    .command('listen')
    .summary('receive, verify and print events on this machine')
    .description(
      'Receive events on this machine, verify their signatures and print them, until Ctrl-C.\n' +
        'The server delivers only to https URLs. Run a tunnel, and pass its URL to `gen3d webhook set`.',
    )
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 for any free port', port, 8788)
    .option('--secret <secret>', "the signing secret; default: GEN3D_WEBHOOK_SECRET, or the endpoint's current secret")
    .option('--json', 'print each event as received, one per line')
    .action((_: unknown, command: Command) => listen(command.optsWithGlobals()));
}

function port(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= 65_535) return number;
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
}

async function listen({ host, port, secret, json, ...options }: ListenOptions): Promise<void> {
  const given = secret ?? (process.env.GEN3D_WEBHOOK_SECRET || undefined);
  const current = () => withClient(options, (client, signal) => client.webhookEndpoint.get({ signal }));
  const signingSecret = given ?? (await current()).secret;
  const server = createServer((request, response) => {
    receive(request, signingSecret).then(
      (event) => {
        if (json) printJson(event);
        else print(describe(event));
        response.writeHead(204).end();
      },
      (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        say(`${cross()} Rejected ${request.method} ${request.url}: ${reason}`);
        // Closes the connection instead of reading the rest of a body that is too large.
        response.writeHead(400, { connection: 'close' }).end(reason);
      },
    );
  });
  await interruptible(async (signal) => {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, host, resolve);
    }).catch((error: unknown) => {
      throw explainPort(error, port, 'gen3d webhook listen');
    });
    say(`Listening on http://${host}:${(server.address() as AddressInfo).port} (Ctrl-C to stop)`);
    // Ctrl-C is the normal way to stop.
    await aborted(signal);
    server.close();
    server.closeAllConnections();
  });
}

/** Events have a few kilobytes, but anyone can send requests through a tunnel. */
const maxBodyBytes = 1024 ** 2;

const receive = async (request: IncomingMessage, secret: string): Promise<WebhookEvent> =>
  verifyWebhook({ payload: await readBody(request), headers: request.headers, secret });

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    size += part.length;
    if (size > maxBodyBytes) throw new Error('The body is larger than 1 MiB');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function describe(event: WebhookEvent): string {
  if (event.event === 'ping') return `${event.timestamp}  ping`;
  const { timestamp, task_id, status, progress, model_urls, error } = event;
  const outcome = error ? `${error.code}: ${error.message}` : (model_urls?.glb ?? '');
  return `${timestamp}  ${task_id}  ${status} ${progress} %  ${outcome}`.trimEnd();
}
