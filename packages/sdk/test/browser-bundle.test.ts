import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { build } from 'tsup';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jobId, jpeg, origin, succeeded } from './server.js';

let folder: string;
let script: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-sdk-bundle-'));
  await build({
    config: false,
    silent: true,
    entry: { sdk: fileURLToPath(new URL('../src/index.ts', import.meta.url)) },
    outDir: folder,
    format: 'iife',
    globalName: 'sdk',
    platform: 'browser',
    noExternal: [/./],
    minify: true,
  });
  script = await readFile(join(folder, 'sdk.global.js'), 'utf8');
});
afterAll(() => rm(folder, { recursive: true }));

test('the browser bundle is under 30 kB gzipped and does not contain zod', () => {
  const { length } = gzipSync(script);
  console.info(`@gen3d/sdk in a browser: ${(length / 1000).toFixed(1)} kB gzipped`);
  expect(length).toBeLessThan(30_000);
  expect(script).not.toContain('ZodError');
});

test('the client works without process, Buffer and require', async () => {
  const bodies: unknown[] = [];
  const respond = async (url: string, init: RequestInit) => {
    const request = new Request(url, init);
    if (request.method === 'GET') return Response.json(succeeded);
    bodies.push(await request.json());
    return Response.json({ job_id: jobId }, { status: 202 });
  };
  const web = { AbortController, AbortSignal, Blob, btoa, clearTimeout, crypto, fetch, Headers, ReadableStream };
  const context = createContext({
    ...web,
    Request,
    Response,
    setTimeout,
    TextDecoder,
    TextEncoder,
    URL,
    URLSearchParams,
  });
  runInContext(script, context);
  Object.assign(context, { respond, photo: new Blob([jpeg]), origin });
  const run = "new sdk.Gen3d({ apiKey: 'gen3d_key', baseUrl: origin, fetch: respond }).generate";
  expect(await runInContext(`${run}(photo)`, context)).toEqual(succeeded);
  expect(bodies).toMatchObject([
    { type: 'image-to-3d', input: { image_urls: ['data:image/jpeg;base64,/9j/4AECAwQ='] } },
  ]);

  await expect(runInContext(`${run}('photo.jpg')`, context)).rejects.toThrow(/has no file system/);
});
