import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { publicTestKey, signWebhook } from '@gen3d/sdk';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { launchChromium } from '../../../scripts/chromium.mjs';
import { discPng, outputMatching, result, site, testFolder } from './run.js';

const { path, run, serve } = testFolder();
const example = (name: string) => fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));
let server: Awaited<ReturnType<typeof serve>>;
let env: Record<string, string>;
beforeAll(async () => {
  for (const name of ['cup.png', 'bowl.png']) await writeFile(path(name), discPng(name.length * 12));
  server = await serve('--workers', '0');
  env = { GEN3D_BASE_URL: server.url, GEN3D_API_KEY: publicTestKey };
});

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts an example server on a free port. */
async function start(name: string, args: readonly string[], extraEnv: Record<string, string> = {}) {
  const child = spawn(process.execPath, [example(name), ...args], {
    cwd: path(),
    env: { PATH: process.env.PATH, PORT: '0', ...env, ...extraEnv },
  });
  children.push(child);
  const [url = ''] = /http:\S+/.exec(await outputMatching(child, /Listening on \S+\n/)) ?? [];
  return { child, url };
}

const isGlb = async (file: string) => (await readFile(path(file))).toString('latin1', 0, 4) === 'glTF';

test('node-script writes the model next to its photo', async () => {
  const created = await run(process.execPath, [example('node-script/make-model.mjs'), 'cup.png'], env);
  expect(created).toEqual({ code: 0, stdout: 'cup.glb\n', stderr: 'SUCCEEDED 100 %\n' });
  expect(await isGlb('cup.glb')).toBe(true);
  expect(await run(process.execPath, [example('node-script/make-model.mjs')], env)).toMatchObject({ code: 2 });
});

test('curl.sh downloads a model with curl', async () => {
  const { code, stdout, stderr } = await run(example('curl.sh'), ['cup.png', 'by-curl.glb'], env);
  expect(stderr).toMatch(/^job \w{26}\nSUCCEEDED\n$/);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'by-curl.glb\n' });
  expect(await isGlb('by-curl.glb')).toBe(true);
});

const missingKey = { GEN3D_API_KEY: '' };
const wrongKey = { GEN3D_API_KEY: 'gen3d_no' };
const noServer = { GEN3D_BASE_URL: 'http://127.0.0.1:1' };

test.each<[string, string, Record<string, string>, RegExp]>([
  ['the photo', 'curl.sh nope.jpg no.glb', {}, /^nope\.jpg is not a readable file\n$/],
  ['a key', 'curl.sh cup.png no.glb', missingKey, /^The API key is missing.*\n$/],
  ['a valid key', 'curl.sh cup.png no.glb', wrongKey, /Could not create a job at .*Forbidden/],
  ['the photo', 'node-script/make-model.mjs nope.jpg', {}, /^.*nope\.jpg.*\n$/],
  ['a key', 'node-script/make-model.mjs cup.png no.glb', missingKey, /^The API key is missing.*\n$/],
  [
    'a valid key',
    'node-script/make-model.mjs cup.png no.glb',
    wrongKey,
    /^The API key is missing, wrong or revoked.*\n$/,
  ],
  ['a server', 'node-script/make-model.mjs cup.png no.glb', noServer, /^.*127\.0\.0\.1:1.*\n$/],
  ['the folder', 'batch-folder/batch.mjs nope no.glb', {}, /^nope is not a folder.*\n$/],
  ['a key', 'batch-folder/batch.mjs . no.glb', missingKey, /^The API key is missing.*\n$/],
  ['a key', 'browser-upload/server.mjs', missingKey, /^The API key is missing.*\n$/],
  ['a secret', 'express-webhooks/receiver.mjs', {}, /^Set GEN3D_WEBHOOK_SECRET.*\n$/],
  ['the model', 'three-viewer/server.mjs nope.glb', {}, /^nope\.glb is not a file.*\n$/],
])('without %s, %s prints an error and writes no file', async (_, command, extraEnv, message) => {
  const [name = '', ...args] = command.split(' ');
  const [program, first] = name.endsWith('.sh') ? [example(name), []] : [process.execPath, [example(name)]];
  const { code, stdout, stderr } = await run(program, [...first, ...args], { ...env, ...extraEnv });
  expect(stderr).toMatch(message);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(existsSync(path('no.glb'))).toBe(false);
});

test('browser-upload survives malformed requests', async () => {
  const { child, url } = await start('browser-upload/server.mjs', []);
  const { hostname, port } = new URL(url);
  /** Sends raw text. Resolves with everything received when the connection closes. */
  const send = (text: string, abort = false) =>
    new Promise<string>((resolve) => {
      let received = '';
      const socket = connect(Number(port), hostname, () => {
        socket.write(text);
        if (abort) setTimeout(() => socket.resetAndDestroy(), 200);
      });
      socket.on('data', (data) => {
        received += data;
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(received));
    });
  const head = `HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n`;
  expect(await send(`GET // ${head}\r\n`)).toMatch(/^HTTP\/1.1 404/);
  expect(await send(`OPTIONS * ${head}\r\n`)).toMatch(/^HTTP\/1.1 404/);
  expect(await send(`GET http:// ${head}\r\n`)).toMatch(/^HTTP\/1.1 404/);
  expect(await send('not HTTP\r\n\r\n')).toMatch(/^HTTP\/1.1 400/);
  await send(`POST /models ${head}Content-Length: 1000\r\n\r\nhalf`, true);
  await send(`POST /models ${head}Transfer-Encoding: chunked\r\n\r\nnot a chunk`);
  const large = await fetch(`${url}/models`, { method: 'POST', body: new Uint8Array(4 * 1024 ** 2 + 1) });
  expect(await large.json()).toEqual({ problem: 'The photo is larger than 4 MiB' });
  expect((await fetch(url)).status).toBe(200);
  expect(child.exitCode).toBeNull();
});

test('curl.sh fails if the response has no job id', async () => {
  // Responds as gen3d does to a request without an id: with the list of jobs.
  const other = await site((_, response) => {
    response.end(JSON.stringify({ jobs: [{ status: 'SUCCEEDED', model_urls: { glb: `${server.url}/healthz` } }] }));
  });
  const { code, stderr } = await run(example('curl.sh'), ['cup.png', 'no.glb'], { ...env, ...other.env });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is not a gen3d server') });
  expect(existsSync(path('no.glb'))).toBe(false);
});

test('batch-folder creates missing models, and with --watch those of new photos', async () => {
  await mkdir(path('photos'));
  await writeFile(path('photos', 'a.png'), discPng(70));
  await writeFile(path('photos', 'b.png'), discPng(71));
  const batch = () => run(process.execPath, [example('batch-folder/batch.mjs'), 'photos', 'models'], env);
  expect((await batch()).stdout.trimEnd().split('\n').sort()).toEqual(['models/a.glb', 'models/b.glb']);
  await writeFile(path('photos', 'c.png'), discPng(72));
  expect(await batch()).toEqual({ code: 0, stdout: 'models/c.glb\n', stderr: '' });
  expect((await readdir(path('models'))).sort()).toEqual(['a.glb', 'b.glb', 'c.glb']);
  const watching = spawn(process.execPath, [example('batch-folder/batch.mjs'), 'photos', 'models', '--watch'], {
    cwd: path(),
    env: { ...process.env, ...env },
  });
  children.push(watching);
  await writeFile(path('photos', 'd.png'), discPng(73));
  await outputMatching(watching, /models\/d\.glb\n/);
  watching.kill();
});

test('express-webhooks handles verified events once and rejects others', async () => {
  const secret = 'whsec_0123456789abcdef';
  const { child, url } = await start('express-webhooks/receiver.mjs', [], { GEN3D_WEBHOOK_SECRET: secret });
  const ended = result(child);
  const event = {
    event: 'task.updated',
    event_id: '01J9ZC3W8Q4V5N6M7P8R9S0T1A',
    user_id: 'a',
    task_id: '01J9ZC3W8Q4V5N6M7P8R9S0T1B',
    type: 'image-to-3d',
    status: 'SUCCEEDED',
    progress: 100,
    model_urls: { glb: 'https://example.com/model.glb' },
    timestamp: '2026-01-02T03:04:05.000Z',
  };
  const payload = JSON.stringify(event);
  const post = async (key: string, body = payload) => {
    const headers = { 'content-type': 'application/json', ...(await signWebhook({ payload, secret: key })) };
    return (await fetch(url, { method: 'POST', body, headers })).status;
  };
  expect([
    await post(secret),
    await post(secret),
    await post('whsec_forged'),
    await post(secret, `${payload} `),
  ]).toEqual([204, 204, 400, 400]);
  child.kill();
  expect((await ended).stdout).toBe('01J9ZC3W8Q4V5N6M7P8R9S0T1B is done: https://example.com/model.glb\n');
});

describe('in a browser', () => {
  async function newPage() {
    const browser = await launchChromium();
    onTestFinished(() => browser.close());
    const page = await browser.newPage({ viewport: { width: 400, height: 300 } });
    const pageErrors: string[] = [];
    page.on('pageerror', (error) => pageErrors.push(error.message));
    return { page, pageErrors };
  }

  test('browser-upload turns a photo into a model, explains errors, and never exposes the key', async () => {
    const { url } = await start('browser-upload/server.mjs', []);
    const { page, pageErrors } = await newPage();
    const traffic: Promise<string>[] = [];
    page.on('request', (request) => traffic.push(request.allHeaders().then((headers) => JSON.stringify(headers))));
    page.on('response', (response) => {
      traffic.push(
        response.text().catch(() => ''),
        Promise.resolve(JSON.stringify(response.headers())),
      );
    });
    await page.goto(url);
    await page.setInputFiles('#photo', path('cup.png'));
    const link = page.getByRole('link', { name: 'Download the model' });
    await link.waitFor();
    const glb = await fetch((await link.getAttribute('href')) ?? '');
    expect(Buffer.from(await glb.arrayBuffer()).toString('latin1', 0, 4)).toBe('glTF');
    await page.setInputFiles('#photo', { name: 'notes.png', mimeType: 'image/png', buffer: Buffer.from('no photo') });
    await page.getByText('Send a JPEG, PNG, WebP, HEIC, AVIF, GIF or TIFF').waitFor();
    const transmitted = (await Promise.all(traffic)).join('\n');
    expect(transmitted).toContain('"status":"SUCCEEDED"');
    expect(transmitted).not.toContain(publicTestKey);
    expect(pageErrors).toEqual([]);
  });

  test('three-viewer shows a model that can be rotated', async () => {
    await run(process.execPath, [example('node-script/make-model.mjs'), 'bowl.png'], env);
    const { url } = await start('three-viewer/server.mjs', [path('bowl.glb')]);
    const { page, pageErrors } = await newPage();
    await page.goto(url);
    await page.waitForSelector('body[data-state=shown]');
    const before = await page.screenshot();
    await page.mouse.move(200, 150);
    await page.mouse.down();
    await page.mouse.move(320, 150, { steps: 4 });
    await page.mouse.up();
    await expect.poll(async () => (await page.screenshot()).equals(before)).toBe(false);
    // A screenshot of the plain background alone would compress to far less.
    expect(before.length).toBeGreaterThan(4000);
    expect(pageErrors).toEqual([]);
  });
});
