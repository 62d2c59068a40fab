import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult, Progress } from '@modelcontextprotocol/sdk/types.js';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bin, discPng, result, testFolder } from './run.js';

const { begin, gen3d, path, serve, spawned } = testFolder();
let idle: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  await mkdir(path('project'));
  await writeFile(path('project', 'cup.png'), discPng());
  await writeFile(path('project', 'empty.png'), discPng(64, 0));
  await writeFile(path('secret.png'), discPng());
  await symlink(path('secret.png'), path('project', 'link.png'));
  await symlink(path(), path('project', 'out'));
  idle = await serve('--workers', '0', '--data-dir', path('idle'));
  await serve('--bundle', 'inflate');
});

/** Connects an MCP client in the folder `project`. */
async function connectClient(...args: string[]) {
  const client = new Client({ name: 'test', version: '1' });
  const env = { PATH: process.env.PATH ?? '', GEN3D_CONFIG_DIR: path('config'), GEN3D_DATA_DIR: path('data') };
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, 'mcp', ...args],
    cwd: path('project'),
    env,
    stderr: 'inherit',
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const call = async (name: string, args: Record<string, unknown>, onprogress?: (progress: Progress) => void) =>
    (await client.callTool({ name, arguments: args }, undefined, {
      timeout: 50_000,
      ...(onprogress && { onprogress }),
    })) as CallToolResult;
  return { client, call };
}

const textOf = ({ content }: CallToolResult) =>
  content.map((part) => (part.type === 'text' ? part.text : part.type)).join(' ');

test('an assistant creates a model, receives progress and a thumbnail, and downloads the file', async () => {
  const { client, call } = await connectClient();
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).sort()).toEqual(['create', 'download', 'list', 'wait']);
  // The official clients give up after a minute.
  const wait = tools.find(({ name }) => name === 'wait')?.inputSchema.properties?.timeout_seconds;
  expect((wait as { default: number }).default).toBeLessThan(60);
  expect(client.getInstructions()).toMatch(/Call create .*, then wait .*, then download/);

  const created = await call('create', { image: 'cup.png' });
  const { job_id } = created.structuredContent as { job_id: string };
  const updates: Progress[] = [];
  const waited = await call('wait', { job_id }, (progress) => updates.push(progress));
  expect(waited.structuredContent).toMatchObject({ task_id: job_id, status: 'SUCCEEDED', progress: 100 });
  // The client drops an update that arrives together with the result, which has the last state anyway.
  expect(updates[0]).toMatchObject({ total: 100, message: expect.stringMatching(/^[A-Z_]+$/) });
  const values = updates.map(({ progress }) => progress);
  // The protocol forbids repeating a value.
  expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b));
  const [thumbnail] = waited.content.filter((part) => part.type === 'image');
  expect(Buffer.from(thumbnail?.data ?? '', 'base64').subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]));

  const written = await call('download', { job_id, path: 'cup.glb' });
  expect(written.structuredContent).toMatchObject({ path: path('project', 'cup.glb') });
  const glb = await readFile(path('project', 'cup.glb'));
  expect(glb.toString('latin1', 0, 4)).toBe('glTF');
  expect(written.structuredContent?.bytes).toBe(glb.length);

  const image = pathToFileURL(path('project', 'cup.png')).href;
  const first = await call('create', { image, idempotency_key: 'cup' });
  const { structuredContent } = await call('create', { image: 'cup.png', idempotency_key: 'cup' });
  expect(structuredContent).toEqual(first.structuredContent);
  const page = await call('list', { limit: 1 });
  expect(page.structuredContent).toMatchObject({
    jobs: [{ task_id: structuredContent?.job_id }],
    next_cursor: expect.any(String),
  });
});

describe('a tool returns an error message', () => {
  test('for a photo without an object, an unknown job and an unknown status', async () => {
    const { call } = await connectClient();
    const { job_id } = (await call('create', { image: 'empty.png' })).structuredContent as { job_id: string };
    const failed = await call('wait', { job_id });
    expect(failed).toMatchObject({ isError: true });
    expect(textOf(failed)).toMatch(/^Job \w+ failed with no_foreground: /);
    expect(textOf(await call('download', { job_id }))).toMatch(/is FAILED and has no model/);
    expect(await call('wait', { job_id: '01J9ZC3W8Q4V5N6M7P8R9S0T1A' })).toMatchObject({ isError: true });
    const status = await call('list', { status: 'DONE' });
    expect(status).toMatchObject({ isError: true });
    expect(textOf(status)).toContain('status');
  });

  test('for an unknown argument, such as a misspelled side, and creates no job', async () => {
    const { call } = await connectClient();
    const newest = async () => (await call('list', { limit: 1 })).structuredContent;
    const before = await newest();
    for (const [tool, args, unknown] of [
      ['create', { image: 'cup.png', bakc: 'cup.png' }, 'bakc'],
      ['wait', { job_id: 'x', timeout: 5 }, 'timeout'],
      ['list', { state: 'FAILED' }, 'state'],
      ['download', { job_id: 'x', file: 'cup.glb' }, 'file'],
    ] as const) {
      const rejected = await call(tool, args);
      expect(rejected).toMatchObject({ isError: true });
      expect(textOf(rejected)).toContain(`Unrecognized key: "${unknown}"`);
    }
    expect(await newest()).toEqual(before);
  });

  test('for an existing file, without overwrite', async () => {
    const { call } = await connectClient();
    await writeFile(path('project', 'mine.glb'), 'precious');
    const { structuredContent } = await call('list', { status: 'SUCCEEDED', limit: 1 });
    const { jobs } = structuredContent as { jobs: { task_id: string }[] };
    const job_id = jobs[0]?.task_id;
    const rejected = await call('download', { job_id, path: 'mine.glb' });
    expect(rejected).toMatchObject({ isError: true });
    expect(textOf(rejected)).toContain('mine.glb already exists. Set overwrite to replace it');
    const thumbnail = await call('download', { job_id, path: 'mine.glb', asset: 'thumbnail', overwrite: true });
    expect(textOf(thumbnail)).toContain('Use the extension .jpg');
    expect(await readFile(path('project', 'mine.glb'), 'utf8')).toBe('precious');
    expect((await call('download', { job_id, path: 'mine.glb', overwrite: true })).isError).toBeUndefined();
    expect((await readFile(path('project', 'mine.glb'))).toString('latin1', 0, 4)).toBe('glTF');
    const converted = await call('download', { job_id, path: 'mine.stl' });
    expect(converted.structuredContent).toMatchObject({ bytes: (await stat(path('project', 'mine.stl'))).size });
  });

  test('for a photo or a model outside the folders', async () => {
    const { call } = await connectClient();
    for (const [tool, args] of [
      ['create', { image: '../secret.png' }],
      ['create', { image: 'link.png' }],
      ['create', { image: '/etc/hostname' }],
      ['create', { image: 'file:///etc/hostname' }],
      ['download', { job_id: 'x', path: '../stolen.glb' }],
      ['download', { job_id: 'x', path: 'out/stolen.glb' }],
      ['download', { job_id: '../x' }],
    ] as const) {
      const rejected = await call(tool, args);
      expect(rejected, JSON.stringify(args)).toMatchObject({ isError: true });
      expect(textOf(rejected)).toMatch(/is outside .*project\. .*`gen3d mcp --folder`/);
    }
    expect(existsSync(path('stolen.glb'))).toBe(false);
  });

  test('for a file next to the model that is a link out of the folder, or exists', async () => {
    const { call } = await connectClient();
    const { structuredContent } = await call('list', { status: 'SUCCEEDED', limit: 1 });
    const { jobs } = structuredContent as { jobs: { task_id: string }[] };
    const job_id = jobs[0]?.task_id;
    await writeFile(path('outside.jpg'), 'precious');
    await symlink(path('outside.jpg'), path('project', 'm-texture.jpg'));
    await writeFile(path('project', 'n.mtl'), 'precious');
    const outside = await call('download', { job_id, path: 'm.obj', overwrite: true });
    expect(textOf(outside)).toMatch(/m-texture\.jpg is outside/);
    expect(textOf(await call('download', { job_id, path: 'n.obj' }))).toMatch(/n\.mtl already exists\. Set overwrite/);
    expect(await readFile(path('outside.jpg'), 'utf8')).toBe('precious');
    expect(existsSync(path('project', 'm.obj'))).toBe(false);
  });

  test('but not for a photo in a folder allowed with --folder', async () => {
    const { call } = await connectClient('--folder', path('project'), path());
    expect((await call('create', { image: '../secret.png' })).isError).toBeUndefined();
  });

  test('for an unreachable server and a wrong key', async () => {
    const { call } = await connectClient('--base-url', 'http://127.0.0.1:1', '--api-key', 'gen3d_key');
    expect(textOf(await call('list', {}))).toContain('start it with `gen3d serve`');
    const unauthorized = await connectClient('--api-key', 'gen3d_wrong');
    expect(textOf(await unauthorized.call('list', {}))).toContain('API key is missing, wrong or revoked');
  });
});

test('wait returns a running job when the time runs out', async () => {
  const { call } = await connectClient('--base-url', idle.url);
  const { job_id } = (await call('create', { image: 'cup.png' })).structuredContent as { job_id: string };
  const waited = await call('wait', { job_id, timeout_seconds: 1 });
  expect(waited.structuredContent).toMatchObject({ task_id: job_id, status: 'PENDING' });
  expect(textOf(waited)).toMatch(/^The job is still running\. Call wait again/);
});

test('the server exits with 0 when stdin closes, and with 2 for a missing folder', async () => {
  const { child, ended } = begin(['mcp']);
  child.stdin.end();
  expect(await ended).toEqual({ code: 0, stdout: '', stderr: '' });
  // A supervisor's null device: a file, which ends without being closed.
  const withoutStdin = spawn(process.execPath, [bin, 'mcp'], { stdio: ['ignore', 'pipe', 'pipe'] });
  expect(await result(withoutStdin)).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await gen3d(['mcp', '--folder', 'missing'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Cannot open the folder missing'),
  });
});

test('other commands do not load the protocol, or dependencies of single commands', async () => {
  await writeFile(
    path('hooks.mjs'),
    `import { appendFileSync } from 'node:fs';
     export async function resolve(specifier, context, next) {
       const found = await next(specifier, context);
       appendFileSync(process.env.LOADED, found.url + '\\n');
       return found;
     }`,
  );
  await writeFile(
    path('listen.mjs'),
    "import { register } from 'node:module'; register('./hooks.mjs', import.meta.url);",
  );
  const env = { NODE_OPTIONS: `--import ${path('listen.mjs')}`, LOADED: path('loaded') };
  expect((await spawned(['list'], { env })).code).toBe(0);
  const loaded = await readFile(path('loaded'), 'utf8');
  expect(loaded).toContain('/commander/');
  expect(loaded).not.toMatch(/modelcontextprotocol|chokidar|\/sharp\/|\/open\/|\/ora\/|packages\/server|\/zod\//);
});
