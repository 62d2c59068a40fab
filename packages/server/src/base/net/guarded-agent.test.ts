import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { site } from '../../../test/kit.js';
import { guardedAgent } from './guarded-agent.js';

/**
 * Starts a DNS server on loopback for the duration of the test, and returns its address as `ADDRESS:PORT`. It does not
 * respond to names for which `addressesOf`, which returns their IPv4 addresses, returns undefined.
 */
async function nameServer(addressesOf: (name: string) => readonly string[] | undefined): Promise<string> {
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at]!; length > 0; length = query[at]!) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += length + 1;
    }
    const question = query.subarray(12, at + 5);
    const addresses = addressesOf(labels.join('.'));
    if (!addresses) return;
    const isA = query.readUInt16BE(at + 1) === 1;
    const answers = (isA ? addresses : []).map((one) =>
      // The name of the question, type A, class IN, a lifetime of 0 s, 4 bytes.
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...one.split('.').map(Number)]),
    );
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    // The flags of a response. Code 3 means that the name does not exist.
    header.writeUInt16BE(0x8180 | (addresses.length === 0 ? 3 : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    socket.send(Buffer.concat([header, question, ...answers]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

async function start(
  addressesOf: (name: string) => readonly string[] | undefined,
  { allowPrivateNetwork = false } = {},
) {
  const { port } = new URL(await site((_, response) => response.end('body')));
  const nameServers = [await nameServer(addressesOf)];
  const dispatcher = guardedAgent({ allowPrivateNetwork, connectTimeoutMs: 30_000, nameServers });
  onTestFinished(() => dispatcher.destroy());
  return async (host: string) => (await request(`http://${host}:${port}`, { dispatcher })).body.text();
}

test('names whose name server never responds do not delay other names', async () => {
  const get = await start((name) => (name.startsWith('dead') ? undefined : ['127.0.0.1']), {
    allowPrivateNetwork: true,
  });
  let dead = 0;
  const failures = Array.from({ length: 20 }, (_, i) =>
    get(`dead-${i}.example`).catch((error: { code: string }) => {
      dead++;
      return error.code;
    }),
  );
  expect(await Promise.all(['a', 'b', 'c'].map((name) => get(`${name}.example`)))).toEqual(['body', 'body', 'body']);
  // libuv's threads are free, too.
  expect(await get('localhost')).toBe('body');
  expect(dead).toBe(0);
  expect(new Set(await Promise.all(failures))).toEqual(new Set(['EAI_AGAIN']));
});

test('a name that does not exist is reported as such', async () => {
  const get = await start(() => []);
  await expect(get('missing.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test.each(['127.0.0.1', '10.0.0.1', '169.254.169.254', '168.63.129.16'])(
  'a name that resolves to %s is refused',
  async (address) => {
    const get = await start(() => [address]);
    await expect(get('inside.example')).rejects.toMatchObject({ code: 'GEN3D_FORBIDDEN_ADDRESS' });
  },
);

test('a name in the hosts file is checked like any other', async () => {
  const get = await start(() => []);
  await expect(get('localhost')).rejects.toMatchObject({ code: 'GEN3D_FORBIDDEN_ADDRESS' });
});

test('a name is resolved once per connection, so the addresses checked are the ones dialed', async () => {
  const lookups: string[] = [];
  const get = await start(
    (name) => {
      lookups.push(name);
      return ['127.0.0.1'];
    },
    { allowPrivateNetwork: true },
  );
  expect(await get('once.example')).toBe('body');
  // A and AAAA.
  expect(lookups).toEqual(['once.example', 'once.example']);
});
