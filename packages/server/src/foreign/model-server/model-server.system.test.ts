import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { readModel } from '@gen3d/convert';
import { decode, EngineError, type HttpManifest, problemOfGlb } from '@gen3d/engine';
import { Manifest } from '@gen3d/engine/bundles';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ballPixels } from '../../../test/ball-photo.js';
import { site } from '../../../test/kit.js';
import { dialects } from '../../../test/model-server-dialects.js';
import { httpManifest, outsideModel, partsOfGlb } from '../../../test/model-server-kit.js';
import { TemporaryFailure } from '../../work/stage-failures.js';
import { ModelServer, type ModelServerOptions } from './model-server.js';

const photos = [{ side: 'front', image: ballPixels() }] as const;

async function modelServer(
  listener: RequestListener | string,
  { path = '/', fields = {}, ...options }: Partial<ModelServerOptions> & { path?: string; fields?: object } = {},
) {
  const url = typeof listener === 'string' ? listener : await site(listener);
  const manifest = Manifest.parse(httpManifest(new URL(path, url).href, fields)) as HttpManifest;
  const server = new ModelServer({ manifest, timeoutMs: 300_000, allowPrivateNetwork: false, ...options });
  onTestFinished(() => server.kill());
  return server;
}

const sendJson = (response: ServerResponse, body: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

const forms: Record<string, (model: Buffer, request: IncomingMessage, response: ServerResponse) => void> = {
  'a file': (model, _, response) => response.writeHead(200, { 'content-type': 'model/gltf-binary' }).end(model),
  base64: (model, _, response) => sendJson(response, { created: 1, data: [{ b64_json: model.toString('base64') }] }),
  'a URL of its own': (model, { method }, response) =>
    method === 'GET' ? response.end(model) : sendJson(response, { created: 1, data: [{ url: '/files/1.glb' }] }),
};

test.each(Object.keys(forms))('a model that the server returns as %s is checked, credited and drawn', async (form) => {
  const model = await outsideModel();
  let sent: { image?: string } = {};
  const server = await modelServer(
    async (request, response) => {
      if (request.method === 'POST') {
        expect(request.url).toBe('/make?a=1');
        sent = (await json(request)) as object;
      }
      forms[form]!(model, request, response);
    },
    { path: '/make?a=1' },
  );
  const { glb, thumbnail, transparentThumbnail, stats } = await server.generate(
    [...photos, { side: 'back', image: ballPixels() }],
    {
      sampler: { seed: 7, steps: 9 },
    },
  );

  const { image = '', ...others } = sent;
  expect(others).toEqual({ model: 'trellis2-4b', seed: 7, step: 9 });
  const decoded = await decode(Buffer.from(image, 'base64'));
  expect(Buffer.from(decoded.image.data)).toEqual(ballPixels().pixels);

  expect(await problemOfGlb(glb)).toBeUndefined();
  const [before, after] = [partsOfGlb(model), partsOfGlb(Buffer.from(glb))];
  const credit = { name: 'outside', license: 'MIT', source: 'https://example.com/weights' };
  const digitalSourceType = 'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia';
  expect(after.asset).toEqual({
    ...before.asset,
    extras: { ...before.asset.extras, digitalSourceType, bundles: [credit] },
  });
  expect(after.rest.equals(before.rest)).toBe(true);
  for (const picture of [thumbnail, transparentThumbnail]) {
    expect((await decode(picture)).image).toMatchObject({ width: 512, height: 512 });
  }
  expect(stats).toMatchObject({ bundle: 'outside', warnings: ['photo_not_used_back'] });
});

/** A model whose JSON states another size than its vertices have, which only the validator notices. */
const invalidModel = async () => {
  const text = (await outsideModel()).toString('latin1');
  return Buffer.from(text.replace(/(?<="max":\[-?)\d/, '9'), 'latin1');
};

/** Answers with JSON. */
const replies = (body: object, status?: number) => (response: ServerResponse) => sendJson(response, body, status);

test.each<[string, (response: ServerResponse) => unknown, RegExp]>([
  ['refuses the photo', replies({ error: { message: 'no object' } }, 422), /HTTP 422, no object/],
  ['returns no model', replies({ data: [{}] }), /neither a model nor its URL/],
  ['returns something else', (response) => response.end('<html>'), /not a GLB/],
  ['returns text', (response) => response.end('{"status":"ok"}'), /neither a model nor its URL/],
  ['returns another file', replies({ data: [{ b64_json: 'AAAA' }] }), /not a GLB/],
  ['returns half a model', async (response) => response.end((await outsideModel()).subarray(0, 5_000)), /incomplete/],
  ['returns an invalid model', async (response) => response.end(await invalidModel()), /invalid GLB: .*MAX_MISMATCH/],
  ['returns too much', (response) => response.end(Buffer.alloc(3_000_000)), /more than 1 MiB/],
  [
    'announces too much',
    (response) => response.writeHead(200, { 'content-length': 3e6 }).flushHeaders(),
    /more than 1 MiB/,
  ],
  ['redirects', (response) => response.writeHead(301, { location: '/other' }).end(), /bundle .* is wrong: HTTP 301/],
  ['makes models in the background', replies({ id: '1' }, 202), /bundle .* is wrong: HTTP 202/],
  [
    'has a model without 3D',
    replies({ error: { message: 'unimplemented' } }, 501),
    /bundle .* is wrong: HTTP 501, unimplemented/,
  ],
  ['returns a private URL', replies({ data: [{ url: 'http://127.0.0.2:9/m.glb' }] }), /no public address/],
  [
    'returns the model as a data URL',
    replies({ data: [{ url: 'data:model/gltf-binary;base64,AAAA' }] }),
    /not an http\(s\) URL/,
  ],
])('a server that %s ends the job', async (_, respond, message) => {
  const server = await modelServer((_, response) => void respond(response), { maxBytes: 1024 ** 2 });
  const error = await server.generate(photos).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EngineError);
  expect(error).toMatchObject({ code: 'inference_failed', message: expect.stringMatching(message) });
});

test('a server that closes the connection when it gets a photo is asked again without one', async () => {
  const server = await modelServer((request, response) => {
    // Closing a connection with unread bytes resets it, and the other side loses the response.
    if (Number(request.headers['content-length']) > 1_000) request.socket.resetAndDestroy();
    else sendJson(response, { error: "unknown path '/v2'" }, 404);
  });
  const error = await server.generate(photos).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'inference_failed', message: expect.stringMatching(/unknown path '\/v2'/) });
});

test.each([401, 409, 429, 503])('while the server returns HTTP %i, the job waits', async (status) => {
  const server = await modelServer((_, response) => sendJson(response, { error: 'not now' }, status));
  const generated = server.generate(photos);
  await expect(generated).rejects.toBeInstanceOf(TemporaryFailure);
  await expect(generated).rejects.toThrow(`HTTP ${status}, not now`);
});

test.each<[string, RequestListener | string]>([
  ['the server', 'http://127.0.0.1:9'],
  ['the server behind a proxy', (_, response) => response.writeHead(502).end('<h1>502 Bad Gateway</h1>')],
  [
    'the server behind a proxy with long error pages',
    (_, response) => response.writeHead(503).end('<p>'.repeat(100_000)),
  ],
])('while %s is not running, the job waits', async (_, listener) => {
  const server = await modelServer(listener);
  await expect(server.generate(photos)).rejects.toBeInstanceOf(TemporaryFailure);
});

test.each<[string, RequestListener, RegExp]>([
  ['fails', (_, response) => sendJson(response, { error: 'out of memory' }, 500), /HTTP 500, out of memory/],
  ['loses its backend', (_, response) => sendJson(response, { error: { message: 'it crashed' } }, 502), /it crashed/],
  ['disconnects', (request) => request.socket.destroy(), /./],
  ['never responds', () => {}, /took longer than 0.5 s/],
])('a server that %s costs an attempt', async (_, listener, message) => {
  const server = await modelServer(listener, { timeoutMs: 500 });
  const error = await server.generate(photos).catch((thrown: unknown) => thrown);
  expect(error).not.toBeInstanceOf(TemporaryFailure);
  expect(error).not.toBeInstanceOf(EngineError);
  expect(String(error)).toMatch(message);
});

describe.each(dialects)('$name', ({ path, manifest, key, listener }) => {
  const fields = { model: undefined, ...manifest };
  const seen: object[] = [];
  const open = async (at = path) => {
    const model = await outsideModel();
    seen.length = 0;
    return modelServer(
      listener(model, (request) => seen.push(request)),
      { path: at, fields },
    );
  };
  beforeEach(() => {
    vi.stubEnv('MODEL_SERVER_KEY', key);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test('makes a model, with the options of the manifest and of the job', async () => {
    const server = await open();
    expect(await server.probe()).toBeUndefined();
    const changed = Object.fromEntries(Object.keys(manifest.options ?? {}).map((name) => [name, '1024']));
    const options = { ...changed, bg_removal: 'threshold', unlisted: 'value' };
    const { glb } = await server.generate(photos, { sampler: { seed: 3_000_000_000 }, options });
    expect(await problemOfGlb(glb)).toBeUndefined();
    const [request] = seen as [Record<string, unknown>];
    expect(Number(request.seed)).toBe(3_000_000_000 - 2 ** 31);
    expect(request).not.toHaveProperty('unlisted');
    for (const [name, value] of Object.entries(manifest.options ?? {})) {
      const expected = typeof value === 'object' ? value : name === 'bg_removal' ? 'threshold' : '1024';
      expect(String(JSON.stringify(request[name])).replaceAll('"', '')).toBe(
        JSON.stringify(expected).replaceAll('"', ''),
      );
    }
  });

  test('is not waited for at a wrong address, and the error has its words', async () => {
    const server = await open('/v2/3d');
    const problem = await server.probe();
    expect(problem).not.toBeInstanceOf(TemporaryFailure);
    expect(problem?.message).toMatch(/\/v2\/3d returned HTTP 404.*Correct url, body or model in the manifest/);
    const error = await server.generate(photos).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'inference_failed', message: expect.stringMatching(/is wrong: HTTP 404/) });
    expect((error as Error).message).not.toContain('127.0.0.1');
  });

  test.runIf(key)('is waited for while its key is missing, and the log says which', async () => {
    vi.stubEnv('MODEL_SERVER_KEY', undefined);
    const server = await open();
    expect((await server.probe())?.message).toMatch(/HTTP 401, .*\. MODEL_SERVER_KEY is not set$/);
    await expect(server.generate(photos)).rejects.toBeInstanceOf(TemporaryFailure);
  });
});

test('a key is sent to the origin of the server only', async () => {
  vi.stubEnv('MODEL_SERVER_KEY', 'secret');
  onTestFinished(() => void vi.unstubAllEnvs());
  const keys: unknown[] = [];
  const model = await outsideModel();
  const elsewhere = await site(({ headers }, response) => {
    keys.push(headers.authorization);
    response.end(model);
  });
  const server = await modelServer(
    ({ headers }, response) => {
      keys.push(headers.authorization);
      sendJson(response, { data: [{ url: `${elsewhere}/model.glb` }] });
    },
    { fields: { keyVariable: 'MODEL_SERVER_KEY' }, allowPrivateNetwork: true },
  );
  await server.generate(photos);
  expect(keys).toEqual(['Bearer secret', undefined]);
});

test('a model with more triangles than allowed is simplified on arrival', async () => {
  const server = await modelServer(async (_, response) => response.end(await outsideModel()));
  const { glb } = await server.generate(photos, { maxTriangles: 500 });
  expect(await problemOfGlb(glb)).toBeUndefined();
  const { parts } = await readModel(glb);
  expect(parts.reduce((sum, { indices }) => sum + indices.length / 3, 0)).toBeLessThanOrEqual(500);
  expect(partsOfGlb(Buffer.from(glb)).asset.extras.bundles).toMatchObject([{ name: 'outside' }]);
});

test('a model that declares more than it has is refused', async () => {
  const text = (await outsideModel()).toString('latin1');
  const bomb = Buffer.from(text.replace(/(?<="count":)\d{3}/, '999'), 'latin1');
  const server = await modelServer((_, response) => response.end(bomb));
  await expect(server.generate(photos)).rejects.toThrow(/The file is damaged/);
});

test('an aborted request closes its connection', async () => {
  let closed: Promise<unknown> | undefined;
  const reason = new Error('canceled');
  const abort = new AbortController();
  const server = await modelServer((_, response) => {
    closed = once(response, 'close');
    abort.abort(reason);
  });
  await expect(server.generate(photos, { signal: abort.signal })).rejects.toBe(reason);
  await closed;
});
