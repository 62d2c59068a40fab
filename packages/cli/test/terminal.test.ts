// @module-tag slow
import { existsSync } from 'node:fs';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { stripVTControlCharacters } from 'node:util';
import { publicTestKey, type Task } from '@gen3d/sdk';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { jobTable } from '../src/commands/list.js';
import { showState } from '../src/terminal/progress.js';
import { hasScript, onTerminal } from './pseudo-terminal.js';
import { bin, discPng, site, testFolder } from './run.js';

const { gen3d, path, run, serve } = testFolder();
let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  await writeFile(path('cup.png'), discPng());
  server = await serve('--workers', '0');
});
const testKey = { GEN3D_API_KEY: publicTestKey };

describe('list', () => {
  test('has a heading, names, ages, seconds of work and codes of failures on a terminal', () => {
    const task = {
      type: 'image-to-3d',
      progress: 0,
      finished_at: null,
      created_at: '2026-01-02T03:04:05.000Z',
    } as const;
    const failed = { code: 'no_foreground', message: 'Nothing stood out' };
    const text = jobTable(
      [
        { ...task, task_id: '01A', status: 'IN_PROGRESS', progress: 45 },
        { ...task, task_id: '01B', status: 'FAILED', error: failed, finished_at: '2026-01-02T03:04:09.000Z' },
        { ...task, task_id: '01C', status: 'SUCCEEDED', progress: 100, label: 'cup.jpg', work_seconds: 2.5 },
      ],
      Date.parse('2026-01-05T04:04:05.000Z'),
    );
    expect(text.split('\n')).toEqual([
      'JOB  NAME     STATUS            CREATED     WORK   ERROR',
      '01A           IN_PROGRESS 45 %  3 days ago',
      '01B           FAILED            3 days ago         no_foreground',
      '01C  cup.jpg  SUCCEEDED         3 days ago  2.5 s',
    ]);
  });

  test.skipIf(!hasScript)('has colors on a terminal, but not in a pipe', async () => {
    const id = (await gen3d(['create', 'cup.png'])).stdout.trim();
    const output = (await run('script', onTerminal([process.execPath, bin, 'list', '--limit', '1']))).stdout;
    expect(output).toContain('\x1b[33mPENDING 0 %\x1b[39m');
    expect(stripVTControlCharacters(output).split(/\r?\n/)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^JOB +NAME +STATUS +CREATED/),
        expect.stringMatching(new RegExp(`^${id}  cup\\.png  PENDING 0 %  \\d+ s ago$`)),
      ]),
    );
    const { stdout } = await gen3d(['list', '--limit', '1']);
    expect(stdout).toMatch(new RegExp(`^${id}  PENDING    0 %  20\\d\\d-\\S+Z +cup\\.png\\n$`));
  });
});

describe.skipIf(!hasScript)('create on a terminal', () => {
  const onTty = async (...args: string[]) => {
    const { stdout } = await run('script', onTerminal([process.execPath, bin, 'create', ...args]));
    return stripVTControlCharacters(stdout);
  };

  test('without --wait, says how to wait for the model', async () => {
    expect(await onTty('cup.png')).toMatch(
      /^([0-9A-Z]{26})\r\nTo wait for the model: gen3d get \1 --wait -o cup\.glb\r\n$/,
    );
  });
});

/** Starts a server that responds to every request with this status and body. Returns the environment that selects it. */
async function hostileServer(status: number, body: object): Promise<Record<string, string>> {
  const { env } = await site((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  return { ...env, ...testKey };
}

test('what a server sends is printed without control characters', async () => {
  const text = '\x1b]0;pwned\x07 \x1b[8mhidden \x9b2J \u202Egpj \x1b[31mred\x1b[39m';
  const body = {
    error: { code: 'invalid_request', message: text },
    balance_usd: 1,
    min_balance_usd: 1,
    rates: {},
  };
  const { stderr } = await gen3d(['balance'], { env: await hostileServer(400, body) });
  expect(stderr).toContain('\uFFFD]0;pwned\uFFFD \uFFFD[8mhidden \uFFFD2J \uFFFDgpj \x1b[31mred');
  const { stdout } = await gen3d(['balance', '--json'], { env: await hostileServer(200, body) });
  expect(stdout).not.toMatch(/(?!\n)[\p{Cc}\u202E]/u);
  expect(JSON.parse(stdout)).toMatchObject({ error: { message: text } });
});

const hostileTask = {
  task_id: '01A; touch pwned #',
  type: 'image-to-3d',
  status: 'IN_PROGRESS',
  progress: 50,
  created_at: '2026-01-02T03:04:05.000Z',
  finished_at: null,
};

test('a suggested command quotes the id of a job, which the server chooses', async () => {
  const env = await hostileServer(200, { jobs: [hostileTask] });
  const waiting = await gen3d(['download', '01A'], { env });
  expect(waiting.stderr).toContain("To wait for it: gen3d get '01A; touch pwned #' --wait -o");
  const finished = { ...hostileTask, status: 'SUCCEEDED', model_urls: { glb: `${server.url}/healthz` } };
  const download = ['download', '01A', '-o', path('cup.obj')];
  const unreadable = await gen3d(download, { env: await hostileServer(200, { jobs: [finished] }) });
  expect(unreadable.stderr).toContain("`gen3d download '01A; touch pwned #' -o OTHER.glb`");
});

test.each([{ label: { a: 1 } }, { created_at: 1 }, { warnings: 'cut_off' }, { error: { code: {} } }])(
  'a job with %j is an invalid response, not a bug in gen3d',
  async (change) => {
    const task = { ...hostileTask, ...change };
    for (const body of [{ jobs: [task] }, { ...task, jobs: [] }]) {
      const { code, stderr } = await gen3d(['get', '01A'], { env: await hostileServer(200, body) });
      expect(stderr).toMatch(/invalid list of jobs|is not a response from a gen3d server/);
      expect(code).toBe(1);
    }
  },
);

describe('--open', () => {
  // xdg-open runs the program in BROWSER with the URL.
  const browser = async () => {
    await writeFile(
      path('browser'),
      `#!/bin/sh\nprintf %s "$1" > '${path('opened.part')}' && mv '${path('opened.part')}' '${path('opened')}'\n`,
    );
    await chmod(path('browser'), 0o755);
    await rm(path('opened'), { force: true });
    return { BROWSER: path('browser') };
  };
  const opened = () =>
    vi.waitUntil(() => (existsSync(path('opened')) ? readFile(path('opened'), 'utf8') : ''), { timeout: 30_000 });

  test.skipIf(process.platform !== 'linux')('opens the job in the dashboard and prints its URL', async () => {
    const { code, stdout, stderr } = await gen3d(['create', 'cup.png', '--open'], { env: await browser() });
    const page = `${server.url}/dashboard/jobs/${stdout.trim()}`;
    expect({ code, stderr }).toEqual({ code: 0, stderr: `Opening ${page}\n` });
    expect(await opened()).toBe(page);
  });

  test.skipIf(process.platform !== 'linux')('opens the model file with --wait', async () => {
    const args = ['create', 'cup.png', '--wait', '--open', '-o', 'opened.glb'];
    const { code, stderr } = await gen3d(args, { env: { ...(await browser()), ...testKey } });
    expect(code).toBe(0);
    expect(stderr).toContain('Opening opened.glb\n');
    expect(await opened()).toContain('opened.glb');
  });
});

const task: Task = {
  task_id: '01J9ZC3W8Q4V5N6M7P8R9S0T1A',
  type: 'image-to-3d',
  status: 'QUEUED',
  progress: 25,
  created_at: '2026-01-02T03:04:05.000Z',
  finished_at: null,
};

/** The display's input for a photo. */
function shown() {
  const states: string[] = [];
  const display = {
    update: (_: string, state: string) => states.push(state),
    finish: () => {},
    stop: () => {},
  };
  return { states, show: showState(display, 'cup.png') };
}

test('a waiting job shows its position, and a running one its stage', () => {
  const { states, show } = shown();
  show(task, { position: 3 });
  show({ ...task, status: 'IN_PROGRESS', progress: 60 }, { stage: 'bake' });
  // A server without these headers.
  show({ ...task, status: 'IN_PROGRESS', progress: 60 }, {});
  expect(states).toEqual(['queued, 2 ahead of it, 25 %', 'painting the texture, 60 %', 'creating the model, 60 %']);
});
