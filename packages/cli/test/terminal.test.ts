import { existsSync } from 'node:fs';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { stripVTControlCharacters } from 'node:util';
import { publicTestKey } from '@gen3d/sdk';
import sharp from 'sharp';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { jobTable } from '../src/commands/list.js';
import { type GraphicsProtocol, graphicsProtocol, renderImage } from '../src/terminal/preview.js';
import { hasScript, onTerminal } from './pseudo-terminal.js';
import { bin, discPng, testFolder } from './run.js';

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

describe('--preview', () => {
  test.each<[string, NodeJS.ProcessEnv, GraphicsProtocol]>([
    ['blocks for an unknown terminal', { TERM: 'xterm-256color' }, 'blocks'],
    ['the value of GEN3D_PREVIEW', { GEN3D_PREVIEW: 'sixel' }, 'sixel'],
    ['blocks inside tmux', { TMUX: '/tmp/tmux', GEN3D_PREVIEW: '' }, 'blocks'],
  ])('uses %s', async (_, env, protocol) => {
    expect(await graphicsProtocol(env)).toBe(protocol);
  });

  const red = () =>
    sharp({ create: { width: 64, height: 48, channels: 3, background: '#c81e1e' } })
      .png()
      .toBuffer();

  test('is a valid PNG for kitty and iTerm2', async () => {
    const image = await red();
    const esc = String.fromCharCode(0x1b);
    const pieces = (await renderImage(image, 'kitty', 24)).split(`${esc}_G`).slice(1);
    expect(pieces.every((piece) => piece.endsWith(`${esc}\\`) && piece.length < 4200)).toBe(true);
    expect(pieces.at(-1)).toMatch(/^[^;]*m=0;/);
    const kitty = pieces.map((piece) => piece.slice(piece.indexOf(';') + 1, -2)).join('');
    const iterm2 = await renderImage(image, 'iterm2', 24);
    expect(iterm2).toMatch(new RegExp(`^${esc}]1337;File=inline=1;[^:]*:[\\w+/=]+${String.fromCharCode(7)}$`));
    for (const base64 of [kitty, iterm2.slice(iterm2.indexOf(':') + 1, -1)]) {
      const { format, width, height } = await sharp(Buffer.from(base64, 'base64')).metadata();
      expect({ format, width, height }).toEqual({ format: 'png', width: 320, height: 240 });
    }
  });

  test('has its size and its colors, in percent, for sixel', async () => {
    expect(await renderImage(await red(), 'sixel', 24)).toMatch(/^.P0;1;q"1;1;320;240#0;2;78;12;12#0!320~/);
  });

  test('has two pixels per character as blocks, with the colors of the terminal', async () => {
    const [first = '', ...others] = (await renderImage(await red(), 'blocks', 24)).split('\n');
    expect(stripVTControlCharacters(first)).toBe('▀'.repeat(32));
    expect(others).toHaveLength(11);
    expect(first).toContain('\x1b[38;2;200;30;30;48;2;200;30;30m▀');
    expect(await renderImage(await red(), 'blocks', 8)).toContain('\x1b[38;5;167;48;5;167m▀');
  });

  test.skipIf(!hasScript)('appears below the line of the photo on a terminal, and is explained in a pipe', async () => {
    const args = ['create', 'cup.png', '--wait', '--preview', '--force'];
    const env = { ...testKey, GEN3D_PREVIEW: 'blocks', TERM: 'xterm-256color' };
    const output = (await run('script', onTerminal([process.execPath, bin, ...args]), env)).stdout;
    expect(stripVTControlCharacters(output)).toMatch(/✔ cup\.png {2}\d+ kB, .*\r\n(▀{32}\r\n){5,}/);
    const piped = await gen3d(args, { env });
    expect(piped).toMatchObject({ code: 0, stdout: 'cup.glb\n' });
    expect(piped.stderr).not.toContain('▀');
    expect(piped.stderr).toMatch(/^No preview: stderr is not a terminal\n(.*\n)*✔ cup\.png/);
  });
});
