import { request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { site } from '../../../test/kit.js';
import { nameServer } from '../../../test/name-server.js';
import { guardedAgent } from './guarded-agent.js';

async function start(
  addressesOf: (name: string) => readonly string[] | undefined,
  { allowPrivateNetwork = false } = {},
) {
  const { port } = new URL(await site((_, response) => response.end('here')));
  const nameServers = [await nameServer(addressesOf)];
  const dispatcher = guardedAgent({ allowPrivateNetwork, connectTimeoutMs: 30_000, nameServers });
  onTestFinished(() => dispatcher.destroy());
  return async (host: string) => (await request(`http://${host}:${port}`, { dispatcher })).body.text();
}

test('names whose name server never responds hold up no other name', async () => {
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
  expect(await Promise.all(['a', 'b', 'c'].map((name) => get(`${name}.example`)))).toEqual(['here', 'here', 'here']);
  // libuv's threads are free as well.
  expect(await get('localhost')).toBe('here');
  expect(dead).toBe(0);
  expect(new Set(await Promise.all(failures))).toEqual(new Set(['EAI_AGAIN']));
});

test('a name that does not exist is reported as such', async () => {
  const get = await start(() => []);
  await expect(get('missing.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test.each(['127.0.0.1', '10.0.0.1', '169.254.169.254'])('a name that resolves to %s is refused', async (address) => {
  const get = await start(() => [address]);
  await expect(get('inside.example')).rejects.toMatchObject({ code: 'GEN3D_FORBIDDEN_ADDRESS' });
});

test('a name in the hosts file is checked like any other', async () => {
  const get = await start(() => []);
  await expect(get('localhost')).rejects.toMatchObject({ code: 'GEN3D_FORBIDDEN_ADDRESS' });
});

test('the addresses that were checked are the ones dialed: a name is resolved once for a connection', async () => {
  const asked: string[] = [];
  const get = await start(
    (name) => {
      asked.push(name);
      return ['127.0.0.1'];
    },
    { allowPrivateNetwork: true },
  );
  expect(await get('once.example')).toBe('here');
  // A and AAAA.
  expect(asked).toEqual(['once.example', 'once.example']);
});
