import { request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { site } from '../../../test/kit.js';
import { nameServer } from '../../../test/name-server.js';
import { guardedAgent } from './guarded-agent.js';

async function start(
  addressesOf: (name: string) => readonly string[] | undefined,
  { allowPrivateNetwork = false, denyNetwork = [] as string[] } = {},
) {
  const { port } = new URL(await site((_, response) => response.end('body')));
  const nameServers = [await nameServer(addressesOf)];
  const dispatcher = guardedAgent({ allowPrivateNetwork, denyNetwork, connectTimeoutMs: 30_000, nameServers });
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

test.each([
  ['127.0.0.1', '127.0.0.0/8', false],
  ['::ffff:7f00:1', '127.0.0.1/32', false],
  ['::1', '::/64', false],
  ['127.0.0.1', '::/0', true],
])('%s in a server that denies %s: %s', async (address, network, isAllowed) => {
  const denyNetwork = ['203.0.113.0/24', network];
  const get = await start(() => [address], { allowPrivateNetwork: true, denyNetwork });
  const body = Promise.all([get('inside.example'), get(address.includes(':') ? `[${address}]` : address)]);
  if (isAllowed) expect(await body).toEqual(['body', 'body']);
  else await expect(body).rejects.toMatchObject({ code: 'GEN3D_FORBIDDEN_ADDRESS' });
});

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
