import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { sep } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { publicTestKey, signWebhook } from '@gen3d/sdk';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { hasScript, onTerminal } from './pseudo-terminal.js';
import { bin, discPng, outputMatching, result, site, testFolder } from './run.js';

const { begin, gen3d, path, serve, start } = testFolder();
const jobId = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** More jobs than the other tests create. */
const maxOpenJobs = 40;
let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  await writeFile(path('cup.png'), discPng());
  await writeFile(path('bowl.png'), discPng());
  // Without a runner, jobs stay PENDING.
  server = await serve('--workers', '0', '--max-open-jobs', String(maxOpenJobs));
});

const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await gen3d([...args, '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
};

describe('after the first serve', () => {
  test('other commands use its key, which only this user can read', async () => {
    const { mode } = await stat(path('config', 'profile.json'));
    expect((mode & 0o777).toString(8)).toBe('600');
    expect(await json('balance')).toMatchObject({ balance_usd: 10, min_balance_usd: 1 });
  });

  test('create --json prints one API object per line', async () => {
    const { stdout } = await gen3d(['create', 'cup.png', 'bowl.png', '--json']);
    const ids = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).job_id);
    expect(ids).toHaveLength(2);
    for (const id of ids) expect(id).toMatch(jobId);
  });

  test('create waits while the account has the maximum number of unfinished jobs', async () => {
    const { account_id } = await json('admin', 'account', 'create', 'busy', '--balance', '10');
    const { api_key } = await json('admin', 'key', 'create', account_id);
    const photos = Array.from({ length: maxOpenJobs + 1 }, () => 'cup.png');
    const { child: creating, ended } = begin(['create', ...photos, '--api-key', api_key]);
    await outputMatching(creating, /the server's queue is full for now/);
    const { jobs } = await json('list', '--limit', '100', '--api-key', api_key);
    expect(jobs).toHaveLength(maxOpenJobs);
    await gen3d(['admin', 'job', 'cancel', jobs[0].task_id]);
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(new Set(stdout.trimEnd().split('\n')).size).toBe(photos.length);
  });
});

describe('these fail:', () => {
  test('a wrong key exits with 4 and a hint', async () => {
    const { code, stderr } = await gen3d(['create', 'cup.png'], { env: { GEN3D_API_KEY: 'gen3d_wrong' } });
    expect(stderr).toMatch(/missing, wrong or revoked.*gen3d login/);
    expect(code).toBe(4);
  });

  test('an account without credit exits with 1 and both amounts', async () => {
    const { account_id } = await json('admin', 'account', 'create', 'poor', '--balance', '0.25');
    const { api_key } = await json('admin', 'key', 'create', account_id);
    const { code, stderr } = await gen3d(['create', 'cup.png', '--api-key', api_key]);
    expect(stderr).toMatch(/balance is 0\.25 USD.*requires 1\.00 USD/);
    expect(code).toBe(1);
  });

  test('a command for another server does not send the key, and exits with 4', async () => {
    const keys: unknown[] = [];
    const { url } = await site((request, response) => {
      keys.push(request.headers.authorization);
      response.writeHead(404).end();
    });
    const { code, stderr } = await gen3d(['list', '--base-url', url]);
    expect(stderr).toMatch(/No API key for .*gen3d login/);
    expect(code).toBe(4);
    expect(new Set(keys)).toEqual(new Set([undefined]));
  });
});

describe('with the test key, whose jobs finish immediately', () => {
  const env = { GEN3D_API_KEY: publicTestKey };

  test('create --wait writes the models, and prints a line for each and a summary', async () => {
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

  test('-o converts the model to the format of the extension, and prints that file', async () => {
    const created = await gen3d(['create', 'cup.png', '--wait', '-o', 'cup.obj'], { env });
    expect(created).toMatchObject({ code: 0, stdout: 'cup.obj\n' });
    expect(await readFile(path('cup.obj'), 'utf8')).toMatch(/^# gen3d .*\nmtllib cup\.mtl\n/s);
    expect(await readFile(path('cup.mtl'), 'utf8')).toContain('map_Kd cup-texture.jpg');
    expect(existsSync(path('cup-texture.jpg'))).toBe(true);
  });

  test('-o - writes the bytes of the GLB to stdout, which convert reads from stdin', async () => {
    expect((await gen3d(['create', 'cup.png', '--wait', '-o', 'piped.glb'], { env })).code).toBe(0);
    const { stdout: piped } = start(['create', 'cup.png', '--wait', '-o', '-'], env);
    expect((await buffer(piped)).equals(await readFile(path('piped.glb')))).toBe(true);
    // A small model, because every conversion takes time in proportion to its triangles.
    await json('convert', 'piped.glb', 'small.glb', '--triangles', '2000', '--texture', '64');
    const input = await readFile(path('small.glb'));
    expect(await gen3d(['convert', '-', 'small.stl'], { input })).toMatchObject({ code: 0, stdout: 'small.stl\n' });
    const stl = await readFile(path('small.stl'));
    for (const [args, written] of [
      [['-o', 'again.stl'], 'again.stl'],
      [['--to', 'obj'], 'small.obj'],
      [['--to', 'usdz', '-o', 'converted/'], `converted${sep}small.usdz`],
      [['--to', 'stl', '-o', 'third.stl'], 'third.stl'],
    ] as const) {
      expect(await gen3d(['convert', 'small.glb', ...args])).toMatchObject({ code: 0, stdout: `${written}\n` });
      expect(existsSync(path(written))).toBe(true);
    }
    const { stdout } = await gen3d(['convert', 'small.glb', 'checked.3mf', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      path: 'checked.3mf',
      bytes: (await readFile(path('checked.3mf'))).length,
      notes: expect.arrayContaining([expect.stringMatching(/^Print check: closed, /)]),
      print_check: { closed: true, pieces: 1, volume: expect.closeTo(100, -2) },
    });
    // `toEqual` compares each byte by itself, which takes seconds.
    expect(stl.equals(await readFile(path('again.stl')))).toBe(true);
    expect(stl.length).toBe(84 + 50 * stl.readUInt32LE(80));
    expect(existsSync(path('-'))).toBe(false);
  });

  test.skipIf(process.platform === 'win32')('the line break in a name does not add a line to the result', async () => {
    await writeFile(path('a\nb.png'), discPng());
    const { code, stdout, stderr } = await gen3d(['create', 'a\nb.png', '--wait'], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'a\uFFFDb.glb\n' });
    expect(stderr).toMatch(/^✔ a\uFFFDb\.png {2}[^\n]*\n$/);
    expect((await gen3d(['create', 'a\nb.png', '--wait'], { env })).stderr).toContain(
      'error: a\uFFFDb.glb already exists',
    );
  });

  test('a budget applies to the models that create, download and convert write, also on stdout', async () => {
    const budget = ['--triangles', '2000', '--texture', '64', '--compress', 'meshopt'];
    const created = await gen3d(['create', 'cup.png', '--wait', '-o', 'budget.glb', ...budget], { env });
    expect(created).toMatchObject({ code: 0, stdout: 'budget.glb\n' });
    expect(created.stderr).toMatch(
      /^2,000 triangles \(before: [\d,]+\), texture of 64 pixels \(before: [\d,]+\), \d+ kB \(before: \d+\)\.$/m,
    );
    const small = await readFile(path('budget.glb'));
    const [job = ''] =
      (await gen3d(['list', '--limit', '1', '--json'], { env })).stdout.match(/job_\w+|[0-9A-Z]{26}/) ?? [];
    expect(small.equals(await buffer(start(['download', job, '-o', '-', ...budget], env).stdout))).toBe(true);
    const levels = await gen3d(['convert', 'budget.glb', 'plain.glb', '--compress', 'none', '--lod', '1']);
    expect(levels).toMatchObject({ code: 0, stdout: 'plain.glb\n' });
    expect(levels.stderr).toContain('plain.lod1.glb: 1,000 triangles, ');
    expect((await readFile(path('plain.glb'))).length).toBeGreaterThan(small.length);
    expect(existsSync(path('plain.lod1.glb'))).toBe(true);
    expect(await gen3d(['create', 'cup.png', '--wait', '-o', '-', '--lod', '1'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: --lod writes several files\. Pass a path with -o\n/),
    });
  });

  test('create --wait continues when stderr is closed', async () => {
    const child = start(['create', 'cup.png', '--wait', '-o', 'closed-stderr.glb'], env);
    child.stderr.destroy();
    const { code, stdout } = await result(child);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'closed-stderr.glb\n' });
    expect((await readFile(path('closed-stderr.glb'))).toString('latin1', 0, 4)).toBe('glTF');
  });
});

describe('while waiting for a job,', () => {
  describe.skipIf(!hasScript)('Ctrl-C on a terminal exits with 130', () => {
    const onTty = (...args: string[]) => {
      const { child, ended } = begin(onTerminal([process.execPath, bin, ...args]), {}, 'script');
      return { child, ended, interrupt: () => child.stdin.write('\x03') };
    };

    test('after create --wait, writes no file, and prints how to resume', async () => {
      const { child, ended, interrupt } = onTty('create', 'cup.png', '--wait');
      await outputMatching(child, /queued/);
      interrupt();
      const { code, stdout } = await ended;
      expect(stdout).toMatch(
        /Interrupted\. The server still has the job\..*\r\n {2}gen3d get [0-9A-Z]{26} --wait -o cup\.glb\r\n/,
      );
      expect(code).toBe(130);
      expect(existsSync(path('cup.glb'))).toBe(false);
    });

    test('after get --wait, and prints how to resume', async () => {
      const id = (await gen3d(['create', 'cup.png'])).stdout.trim();
      const { child, ended, interrupt } = onTty('get', id, '--wait', '-f', '-o', 'my cup.glb');
      await outputMatching(child, /queued/);
      interrupt();
      const { code, stdout } = await ended;
      const resume = `To wait again: gen3d get ${id} --wait -o 'my cup.glb' -f`;
      expect(stdout.replace(/\s+/g, ' ')).toContain(`Interrupted. The job is still running. ${resume}`);
      expect(code).toBe(130);
    });
  });

  test('SIGINT while reading stdin exits', async () => {
    const { child, stop } = begin(['create', '-', '--wait', '-o', 'interrupted.glb']);
    // More than a pipe holds, so it is written only once the command reads it.
    await new Promise((written) => child.stdin.write(Buffer.alloc(1024 ** 2), written));
    expect((await stop()).code).toBe(130);
  });

  test('download prints how to wait, or that the job was canceled', async () => {
    const id = (await gen3d(['create', 'cup.png'])).stdout.trim();
    const early = await gen3d(['download', id, '-o', 'cup.glb']);
    expect(early.stderr).toContain(
      `is PENDING 0 % and has no model yet. To wait for it: gen3d get ${id} --wait -o cup.glb\n`,
    );
    await json('admin', 'job', 'cancel', id);
    const late = await gen3d(['download', id]);
    expect(late.stderr).toBe(`error: Job ${id} was canceled\n`);
    expect([early.code, late.code]).toEqual([1, 1]);
  });

  test('canceling the job exits with 1, and --json prints its task', async () => {
    const newest = async () => (await json('list', '--limit', '1')).jobs[0].task_id;
    const before = await newest();
    const { ended } = begin(['create', 'cup.png', '--wait', '--json']);
    const id = await vi.waitUntil(
      async () => {
        const now = await newest();
        return now !== before && now;
      },
      { timeout: 30_000 },
    );
    await json('admin', 'job', 'cancel', id);
    const { code, stdout, stderr } = await ended;
    expect(JSON.parse(stdout)).toMatchObject({ task_id: id, status: 'CANCELED' });
    expect(stderr).toBe(`error: cup.png: Job ${id} was canceled\n`);
    expect(code).toBe(1);
  });
});

describe('accounts', () => {
  test('on a free server, a new member’s key works, and nothing speaks of money', async () => {
    const created = await gen3d(['admin', 'account', 'create', 'dora']);
    const key = await gen3d(['admin', 'key', 'create', 'dora']);
    const listed = await gen3d(['admin', 'account', 'list']);
    const balance = await gen3d(['balance', '--api-key', key.stdout.trim()]);
    const output = [created, key, listed, balance].map(({ stdout, stderr }) => stdout + stderr).join('');
    expect(output).toContain('Created the account "dora"\n');
    expect(output).not.toMatch(/USD|credit/);
    expect((await gen3d(['create', 'cup.png', '--api-key', key.stdout.trim()])).code).toBe(0);
  });

  test('credit adds positive and subtracts negative amounts', async () => {
    const { account_id } = await json('admin', 'account', 'create', 'borrower', '--balance', '0');
    await json('admin', 'account', 'credit', account_id, '2.5');
    expect(await json('admin', 'account', 'credit', account_id, '-1')).toMatchObject({ account_id, balance_usd: 1.5 });
  });

  test('sign-in-link prints a link to the dashboard of the running server', async () => {
    // Another user's profile, which knows another server of this data directory.
    const profile = { servers: { 'http://127.0.0.1:1': { dataDir: path('data') } } };
    await mkdir(path('elsewhere'));
    await writeFile(path('elsewhere', 'profile.json'), JSON.stringify(profile));
    const { code, stdout } = await gen3d(['admin', 'sign-in-link'], { env: { GEN3D_CONFIG_DIR: path('elsewhere') } });
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

  test('sign-in-link fails without an installation, lists known ones, and creates no folder', async () => {
    const { code, stdout, stderr } = await gen3d(['admin', 'sign-in-link', '--data-dir', path('typo-of-link')]);
    expect(stderr).toMatch(/^error: No installation found in .*typo-of-link\. Start one with `gen3d serve`, or/);
    expect(stderr).toContain(`--data-dir ${path('data')}\n`);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(existsSync(path('typo-of-link'))).toBe(false);
  });

  test('an empty list prints nothing to stdout', async () => {
    expect(await gen3d(['admin', 'dead-letter', 'list'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'There are no dead letters\n',
    });
  });

  test('only account create creates a data directory, and reports it', async () => {
    const data = ['--data-dir', path('typo')];
    const { code, stderr } = await gen3d(['admin', ...data, 'account', 'list']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/No installation found in .*typo\./) });
    expect(existsSync(path('typo'))).toBe(false);
    const args = ['admin', ...data, 'account', 'create', 'ann'];
    const created = await gen3d(args);
    expect(created).toMatchObject({ code: 0, stderr: expect.stringMatching(/Creating the data directory .*typo\./) });
    expect((await gen3d(args)).stderr).not.toContain('Creating');
  });

  test('login checks the key before storing it, and logout removes it', async () => {
    const env = { GEN3D_CONFIG_DIR: path('other-config'), GEN3D_BASE_URL: server.url };
    expect((await gen3d(['login'], { env, input: 'gen3d_wrong' })).code).toBe(4);
    expect(existsSync(path('other-config', 'profile.json'))).toBe(false);
    const { current, servers } = JSON.parse(await readFile(path('config', 'profile.json'), 'utf8'));
    expect((await gen3d(['login'], { env, input: `${servers[current].apiKey}\n` })).code).toBe(0);
    expect((await gen3d(['balance'], { env })).code).toBe(0);
    expect((await gen3d(['logout'], { env })).code).toBe(0);
    expect((await gen3d(['balance'], { env })).code).toBe(4);
  });
});

describe('webhooks', () => {
  test('set, get, rotate, test and delete call the API', async () => {
    expect((await gen3d(['webhook', 'get'])).code).toBe(1);
    const { secret } = await json('webhook', 'set', 'https://example.com/hook');
    expect(await json('webhook', 'get')).toEqual({ url: 'https://example.com/hook', secret });
    const final = await gen3d(['webhook', 'set', 'https://example.com/hook', '--events', 'final']);
    expect(final.stdout).toMatch(/^events +final$/m);
    expect(await json('webhook', 'get')).toMatchObject({ secret, events: 'final' });
    const rotated = await json('webhook', 'rotate');
    expect(rotated.secret).not.toBe(secret);
    expect(await json('webhook', 'test')).toEqual({ queued: true });
    expect((await gen3d(['webhook', 'delete'])).code).toBe(0);
    expect((await gen3d(['webhook', 'get'])).code).toBe(1);
  });

  test('listen prints verified events and rejects others', async () => {
    const secret = 'whsec_0123456789';
    const { child, stop } = begin(['webhook', 'listen', '--port', '0', '--secret', `${secret},whsec_old`]);
    const [url = ''] = /http:\S+/.exec(await outputMatching(child, /Listening on .*Ctrl-C/)) ?? [];
    const payload = JSON.stringify({
      event: 'ping',
      event_id: '1',
      user_id: 'a',
      timestamp: '2026-01-02T03:04:05.000Z',
    });
    const post = async (key: string) =>
      (await fetch(url, { method: 'POST', body: payload, headers: await signWebhook({ payload, secret: key }) }))
        .status;
    expect([await post(secret), await post('whsec_old')]).toEqual([204, 204]);
    expect(await post('whsec_forged')).toBe(400);
    const large = await fetch(url, { method: 'POST', body: new Uint8Array(1024 ** 2 + 1) }).catch(() => undefined);
    // The connection may close before the response is read.
    expect([400, undefined]).toContain(large?.status);
    const { code, stdout, stderr } = await stop();
    expect(stdout).toBe('2026-01-02T03:04:05.000Z  ping\n'.repeat(2));
    expect(stderr).toMatch(/Rejected POST .*signature does not match/);
    expect(stderr).toMatch(/Rejected POST .*The body is larger than 1 MiB/);
    expect(code).toBe(0);
  });
});

// These tests stop the server.
describe('serve', () => {
  test.each([
    ['serve', '--port'],
    ['serve', '--port 0 --metrics-port'],
    ['worker', '--metrics-port'],
  ])('%s %s exits with 2 and names both options if the port is in use', async (command, options) => {
    const { port } = new URL(server.url);
    const others = ['--bundle', 'inflate', '--data-dir', path('metrics')];
    const { code, stderr } = await gen3d([command, ...options.split(' '), port, ...others]);
    expect(stderr).toMatch(
      new RegExp(`Port ${port} is already in use.*Choose another port with --port or --metrics-port`),
    );
    expect(code).toBe(2);
  });

  test.each([
    ['serve', '--host'],
    ['serve', '--metrics-host'],
    ['webhook listen', '--host'],
  ])('%s exits with 2 and a message if %s is not an address of this machine', async (command, flag) => {
    const own = command === 'serve' ? ['--metrics-port', '0', '--data-dir', path('host')] : ['--secret', 'whsec_1'];
    // A TEST-NET address, which belongs to no machine.
    const args = [...command.split(' '), '--port', '0', ...own, flag, '192.0.2.1'];
    const { code, stderr } = await gen3d(args);
    expect(stderr).toMatch(
      /^error: 192\.0\.2\.1 is not an address of this machine\. Choose another one with --host or --metrics-host$/m,
    );
    expect(code).toBe(2);
  });

  test('rejects a second server for a data directory', async () => {
    const before = await readFile(path('config', 'profile.json'), 'utf8');
    const { code, stdout, stderr } = await gen3d(['serve', '--workers', '0', '--port', '0']);
    expect(stderr).toContain('error: Another server uses the data directory ');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(await readFile(path('config', 'profile.json'), 'utf8')).toBe(before);
  });

  test('exits with 0 on SIGTERM, and keeps its key after a restart on another port', async () => {
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
    // A link would give the readers of a log access to the dashboard.
    expect(stderr).toContain(`gen3d admin sign-in-link --data-dir ${path('data')}\n`);
  });
});
