import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook, type WebhookEvent } from '@gen3d/sdk';
import { type Command, InvalidArgumentError } from 'commander';
import { type ServerOptions, withClient } from '../../connection/client.js';
import { explainPort } from '../../exit/failure.js';
import { interruptible, stopped } from '../../exit/interruption.js';
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
        'The server delivers to https URLs only: put a tunnel in front, and give its URL to `gen3d webhook set`.',
    )
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 picks a free one', port, 8788)
    .option('--secret <secret>', "the signing secret; default: GEN3D_WEBHOOK_SECRET, or the server's current one")
    .option('--json', 'print each event as it came, one a line')
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
  const used = given ?? (await current()).secret;
  const server = createServer((request, response) => {
    receive(request, used).then(
      (event) => {
        if (json) printJson(event);
        else print(describe(event));
        response.writeHead(204).end();
      },
      (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        say(`${cross()} refused ${request.method} ${request.url}: ${reason}`);
        // Closed, so that what is left of a body that is too large is not read.
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
    say(`Listening on http://${host}:${(server.address() as AddressInfo).port}, Ctrl-C ends`);
    // Here Ctrl-C is the way to be done, not an interruption.
    await stopped(signal);
    server.close();
    server.closeAllConnections();
  });
}

/** An event is a few kilobytes. A tunnel lets anyone send more. */
const maxBodyBytes = 1024 ** 2;

const receive = async (request: IncomingMessage, secret: string): Promise<WebhookEvent> =>
  verifyWebhook({ payload: await bodyOf(request), headers: request.headers, secret });

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    size += part.length;
    if (size > maxBodyBytes) throw new Error('the body is larger than 1 MiB');
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
