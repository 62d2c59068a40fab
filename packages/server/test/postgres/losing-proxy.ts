import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Loss {
  /** Part of the statement. */
  statement: string;
  /** Part of an earlier statement on the same connection. */
  after?: string;
  /** The tag with which PostgreSQL confirms the statement. */
  tag: string;
}

/**
 * A proxy in front of PostgreSQL for the duration of the test. `url` goes through it. After `loseNext`, it closes the
 * connection once, after the statement was executed and before its response arrives.
 */
export async function losingProxy(
  database: string,
  { statement, after = '', tag }: Loss,
): Promise<{ url: string; loseNext(): void; lost(): boolean }> {
  const target = new URL(database);
  let armed = false;
  let lost = false;
  const loseNext = () => {
    armed = true;
  };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let prepared = false;
    let asked = false;
    client.on('data', (chunk) => {
      // The connection is not encrypted, so the proxy can read statements.
      prepared ||= chunk.includes(after);
      asked = prepared && chunk.includes(statement);
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (!(armed && asked && chunk.includes(`${tag}\0`))) return void client.write(chunk);
      armed = false;
      lost = true;
      client.destroy();
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = new URL(database);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return { url: url.href, loseNext, lost: () => lost };
}
