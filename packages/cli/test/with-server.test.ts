import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { publicTestKey, signWebhook } from '@gen3d/sdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { discPng, result, says, workplace } from './run.js';

const { gen3d, path, serve, start } = workplace();
const jobId = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** More than the other tests create. */
const maxOpenJobs = 40;
let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  await writeFile(path('cup.png'), discPng());
  await writeFile(path('bowl.png'), discPng());
  // No runner: jobs stay as they were accepted.
  server = await serve('--workers', '0', '--max-open-jobs', String(maxOpenJobs));
});

const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await gen3d([...args, '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
};

describe('after the first serve', () => {
  test('its key is kept for this user alone, and the other commands need none', async () => {
    const { mode } = await stat(path('config', 'profile.json'));
    expect((mode & 0o777).toString(8)).toBe('600');
    expect(await json('balance')).toMatchObject({ balance_usd: 10, min_balance_usd: 1 });
  });

  test('create prints the job id and nothing else', async () => {
    const { code, stdout, stderr } = await gen3d(['create', 'cup.png']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd()).toMatch(jobId);
    expect(await gen3d(['get', stdout.trimEnd()])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/PENDING 0 %/),
    });
  });

  test('an empty -o is refused before a job is made', async () => {
    const before = await json('list');
    const { code, stderr } = await gen3d(['create', 'cup.png', '--wait', '-o', '']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^error: -o is empty/) });
    expect(await json('list')).toEqual(before);
  });

  test('create takes a photo from stdin', async () => {
    const { code, stdout } = await gen3d(['create', '-'], { input: discPng() });
    expect(stdout.trimEnd()).toMatch(jobId);
    expect(code).toBe(0);
  });

  test('create of several photos prints one API object a line with --json', async () => {
    const { stdout } = await gen3d(['create', 'cup.png', 'bowl.png', '--json']);
    const ids = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).job_id);
    expect(ids).toHaveLength(2);
    for (const id of ids) expect(id).toMatch(jobId);
  });

  test('create waits while the account has as many open jobs as it may have', async () => {
    const { account_id } = await json('admin', 'account', 'create', 'busy', '--balance', '10');
    const { api_key } = await json('admin', 'key', 'create', account_id);
    const photos = Array.from({ length: maxOpenJobs + 1 }, () => 'cup.png');
    const creating = start(['create', ...photos, '--api-key', api_key]);
    const ended = result(creating);
    await says(creating, /the server accepts no more jobs at the moment/);
    const { jobs } = await json('list', '--limit', '100', '--api-key', api_key);
    expect(jobs).toHaveLength(maxOpenJobs);
    await gen3d(['admin', 'job', 'cancel', jobs[0].task_id]);
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(new Set(stdout.trimEnd().split('\n')).size).toBe(photos.length);
  });

  test('list pages with the cursor, newest first', async () => {
    const first = await json('list', '--limit', '1');
    expect(first.jobs).toHaveLength(1);
    const second = await json('list', '--limit', '1', '--cursor', first.next_cursor);
    expect(second.jobs[0].task_id < first.jobs[0].task_id).toBe(true);
    expect(await json('list', '--status', 'FAILED')).toEqual({ jobs: [] });
  });
});

describe('refused', () => {
  test('an unknown job ends with 1, its id, and where to look', async () => {
    const id = '01J9ZC3W8Q4V5N6M7P8R9S0T1A';
    for (const args of [
      ['get', id],
      ['get', id, '--wait'],
      ['download', id],
    ]) {
      const { code, stdout, stderr } = await gen3d(args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(new RegExp(`^error: Job ${id} does not exist.*\`gen3d list\`.*\\n$`));
    }
  });

  test('a wrong key ends with 4 and says what to do', async () => {
    const { code, stderr } = await gen3d(['create', 'cup.png'], { env: { GEN3D_API_KEY: 'gen3d_wrong' } });
    expect(stderr).toMatch(/missing, wrong or revoked.*gen3d login/);
    expect(code).toBe(4);
  });

  test('an account without money ends with 1 and both figures', async () => {
    const { account_id } = await json('admin', 'account', 'create', 'poor', '--balance', '0.25');
    const { api_key } = await json('admin', 'key', 'create', account_id);
    const { code, stderr } = await gen3d(['create', 'cup.png', '--api-key', api_key]);
    expect(stderr).toMatch(/balance is 0\.25 USD.*needs 1\.00 USD/);
    expect(code).toBe(1);
  });

  test('the key of one server is never sent to another', async () => {
    const keys: unknown[] = [];
    const stranger = createServer((request, response) => {
      keys.push(request.headers.authorization);
      response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const { port } = stranger.address() as AddressInfo;
    const { code, stderr } = await gen3d(['list', '--base-url', `http://127.0.0.1:${port}`]);
    stranger.close();
    expect(stderr).toMatch(/There is no API key for .*gen3d login/);
    expect(code).toBe(4);
    expect(keys).toEqual([undefined]);
  });
});

describe('with the test key, whose jobs are done at once', () => {
  const env = { GEN3D_API_KEY: publicTestKey };

  test('create --wait writes the model of each photo, its line, and a summary', async () => {
    const { code, stdout, stderr } = await gen3d(['create', 'cup.png', 'bowl.png', '--wait', '-o', 'models'], { env });
    expect(stdout.trimEnd().split('\n').sort()).toEqual(['models/bowl.glb', 'models/cup.glb']);
    const lines = stderr.trimEnd().split('\n');
    expect(lines.filter((line) => line.startsWith('✔')).sort()).toEqual([
      expect.stringMatching(/^✔ bowl\.png {2}\d+ kB, [\d.]+ s$/),
      expect.stringMatching(/^✔ cup\.png {2}\d+ kB, [\d.]+ s$/),
    ]);
    expect(lines.at(-1)).toMatch(/^2 models, in [\d.]+ s$/);
    expect(code).toBe(0);
  });

  test('create --wait goes on when nobody reads its progress', async () => {
    const child = start(['create', 'cup.png', '--wait', '-o', 'unwatched.glb'], env);
    child.stderr.destroy();
    const { code, stdout } = await result(child);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'unwatched.glb\n' });
    expect((await readFile(path('unwatched.glb'))).toString('latin1', 0, 4)).toBe('glTF');
  });
});

describe('waiting for a job that does not end', () => {
  test('Ctrl-C ends with 130, leaves no file, and says how to pick the job up', async () => {
    const child = start(['create', 'cup.png', '--wait']);
    const ended = result(child);
    await says(child, /waiting for its turn/);
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    expect(stderr).toMatch(/Interrupted\. The job goes on.*\n {2}gen3d get [0-9A-Z]{26} --wait -o cup\.glb\n$/);
    expect(stdout).toBe('');
    expect(code).toBe(130);
    expect(existsSync(path('cup.glb'))).toBe(false);
  });

  test('Ctrl-C while a photo comes in through stdin ends too', async () => {
    const child = start(['create', '-', '--wait']);
    const ended = result(child);
    await says(child, /sending/);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
  });

  test('Ctrl-C during get --wait says the same', async () => {
    const id = (await gen3d(['create', 'cup.png'])).stdout.trim();
    const child = start(['get', id, '--wait', '-o', 'my cup.glb']);
    const ended = result(child);
    await says(child, /waiting for its turn/);
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(stderr).toContain(`Interrupted. The job goes on: \`gen3d get ${id} --wait -o 'my cup.glb'\`\n`);
    expect(code).toBe(130);
  });

  test('download says how to wait for it, and why there is nothing if it was canceled', async () => {
    const id = (await gen3d(['create', 'cup.png'])).stdout.trim();
    const early = await gen3d(['download', id, '-o', 'cup.glb']);
    expect(early.stderr).toContain(`is PENDING 0 % and has no model yet: \`gen3d get ${id} --wait -o cup.glb\` waits`);
    await json('admin', 'job', 'cancel', id);
    const late = await gen3d(['download', id]);
    expect(late.stderr).toBe(`error: Job ${id} was canceled\n`);
    expect([early.code, late.code]).toEqual([1, 1]);
  });

  test('a job that the operator cancels ends with 1, and --json prints its task', async () => {
    const child = start(['create', 'cup.png', '--wait', '--json']);
    const ended = result(child);
    await says(child, /waiting for its turn/);
    const { jobs } = await json('list', '--limit', '1');
    await json('admin', 'job', 'cancel', jobs[0].task_id);
    const { code, stdout, stderr } = await ended;
    expect(JSON.parse(stdout)).toMatchObject({ task_id: jobs[0].task_id, status: 'CANCELED' });
    expect(stderr).toMatch(/was canceled/);
    expect(code).toBe(1);
  });
});

describe('accounts', () => {
  test('a key that is revoked stops working, and the list says so', async () => {
    const { account_id } = await json('admin', 'account', 'create', 'acme', '--balance', '5');
    const { key_id, api_key } = await json('admin', 'key', 'create', account_id);
    expect((await gen3d(['balance', '--api-key', api_key])).code).toBe(0);
    await json('admin', 'key', 'revoke', key_id);
    expect((await gen3d(['balance', '--api-key', api_key])).code).toBe(4);
    expect(await json('admin', 'key', 'list', account_id)).toMatchObject([{ key_id, revoked_at: expect.any(String) }]);
  });

  test('credit adds, and takes back what is negative', async () => {
    const { account_id } = await json('admin', 'account', 'create', 'acme');
    await json('admin', 'account', 'credit', account_id, '2.5');
    expect(await json('admin', 'account', 'credit', account_id, '-1')).toMatchObject({ account_id, balance_usd: 1.5 });
  });

  test('sign-in-link prints a link to the dashboard of the running server, which opens it as its operator', async () => {
    const { code, stdout } = await gen3d(['admin', 'sign-in-link']);
    expect(code).toBe(0);
    const [origin, token] = stdout.trimEnd().split('/dashboard/sign-in#');
    expect(origin).toBe(server.url);
    const signedIn = await fetch(`${origin}/dashboard/api/session`, {
      method: 'POST',
      headers: { origin: server.url },
      body: JSON.stringify({ link: token }),
    });
    expect(await signedIn.json()).toMatchObject({ role: 'operator' });
  });

  test('sign-in-link is refused where no server has ever been, names where one has, and makes no folder', async () => {
    const { code, stdout, stderr } = await gen3d(['admin', 'sign-in-link', '--data-dir', path('typo-of-link')]);
    expect(stderr).toMatch(/^error: There is no installation at .*typo-of-link\. Start `gen3d serve` there, or/);
    expect(stderr).toContain(`--data-dir ${path('data')}\n`);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(existsSync(path('typo-of-link'))).toBe(false);
  });

  test('an empty list is no line on stdout', async () => {
    expect(await gen3d(['admin', 'dead-letter', 'list'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'There are no dead letters\n',
    });
  });

  test('a data directory that was not there is spoken of', async () => {
    const args = ['admin', '--data-dir', path('typo'), 'account', 'list'];
    expect(await gen3d(args)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/typo was not there/),
    });
    expect((await gen3d(args)).stderr).not.toContain('was not there');
  });

  test('an id that does not exist ends with 1 and a sentence', async () => {
    const { code, stderr } = await gen3d(['admin', 'key', 'create', 'nobody']);
    expect(stderr).toMatch(/^error: No account has the id nobody/);
    expect(code).toBe(1);
  });

  test('login tries the key before it keeps it, and logout forgets it', async () => {
    const env = { GEN3D_CONFIG_DIR: path('other-config'), GEN3D_BASE_URL: server.url };
    expect((await gen3d(['login'], { env, input: 'gen3d_wrong' })).code).toBe(4);
    expect(existsSync(path('other-config'))).toBe(false);
    const { current, servers } = JSON.parse(await readFile(path('config', 'profile.json'), 'utf8'));
    expect((await gen3d(['login'], { env, input: `${servers[current].apiKey}\n` })).code).toBe(0);
    expect((await gen3d(['balance'], { env })).code).toBe(0);
    expect((await gen3d(['logout'], { env })).code).toBe(0);
    expect((await gen3d(['balance'], { env })).code).toBe(4);
  });
});

describe('webhooks', () => {
  test('set, get, rotate, test and delete do what the API does', async () => {
    expect((await gen3d(['webhook', 'get'])).code).toBe(1);
    const { secret } = await json('webhook', 'set', 'https://example.com/hook');
    expect(await json('webhook', 'get')).toEqual({ url: 'https://example.com/hook', secret });
    const rotated = await json('webhook', 'rotate');
    expect(rotated.secret).not.toBe(secret);
    expect(await json('webhook', 'test')).toEqual({ queued: true });
    expect((await gen3d(['webhook', 'delete'])).code).toBe(0);
    expect((await gen3d(['webhook', 'get'])).code).toBe(1);
  });

  test('listen prints what verifies and refuses what does not', async () => {
    const secret = 'whsec_0123456789';
    const child = start(['webhook', 'listen', '--port', '0', '--secret', secret]);
    const ended = result(child);
    const [url = ''] = /http:\S+(?=,)/.exec(await says(child, /Listening on .*Ctrl-C/)) ?? [];
    const payload = JSON.stringify({
      event: 'ping',
      event_id: '1',
      user_id: 'a',
      timestamp: '2026-01-02T03:04:05.000Z',
    });
    const post = async (key: string) =>
      (await fetch(url, { method: 'POST', body: payload, headers: await signWebhook({ payload, secret: key }) }))
        .status;
    expect(await post(secret)).toBe(204);
    expect(await post('whsec_forged')).toBe(400);
    const large = await fetch(url, { method: 'POST', body: new Uint8Array(1024 ** 2 + 1) }).catch(() => undefined);
    // The connection may be closed before the answer is read.
    expect([400, undefined]).toContain(large?.status);
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    expect(stdout).toBe('2026-01-02T03:04:05.000Z  ping\n');
    expect(stderr).toMatch(/refused POST .*signature does not match/);
    expect(stderr).toMatch(/refused POST .*the body is larger than 1 MiB/);
    expect(code).toBe(0);
  });

  test('listen on a port that is taken ends with 2 and a sentence', async () => {
    const { port } = new URL(server.url);
    const { code, stderr } = await gen3d(['webhook', 'listen', '--secret', 'whsec_1', '--port', port]);
    expect(stderr).toMatch(new RegExp(`^error: Port ${port} is taken: .*Choose another with --port`));
    expect(code).toBe(2);
  });
});

// Last: these stop the server.
describe('serve', () => {
  test('a port that is taken ends with 2 and a sentence', async () => {
    const { port } = new URL(server.url);
    const { code, stderr } = await gen3d(['serve', '--workers', '0', '--port', port, '--data-dir', path('other')]);
    expect(stderr).toMatch(new RegExp(`Port ${port} is taken`));
    expect(code).toBe(2);
  });

  test('a second one of the same data directory is refused, and the first stays known', async () => {
    const before = await readFile(path('config', 'profile.json'), 'utf8');
    const { code, stdout, stderr } = await gen3d(['serve', '--workers', '0', '--port', '0']);
    expect(stderr).toContain(`served already by ${server.url}`);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(await readFile(path('config', 'profile.json'), 'utf8')).toBe(before);
  });

  test('SIGTERM ends it with 0, and after a start on another port its key is still known', async () => {
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(0);
    server = await serve('--workers', '0', '--log-format', 'pretty');
    expect((await gen3d(['balance'])).code).toBe(0);
    const { current, servers } = JSON.parse(await readFile(path('config', 'profile.json'), 'utf8'));
    expect(current).toBe(server.url);
    expect(Object.keys(servers)).toEqual([server.url]);
    server.child.kill('SIGINT');
    const { code, stderr } = await server.ended;
    expect(code).toBe(0);
    // Its account is there already, so no link is made: it says how to come by one.
    expect(stderr).toContain(`gen3d admin sign-in-link --data-dir ${path('data')}\``);
    expect(stderr).toContain('`gen3d models pull triposr` adds TripoSR');
  });
});
