import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { decode, EngineError, type HttpManifest, problemOfGlb } from '@gen3d/engine';
import { Manifest } from '@gen3d/engine/bundles';
import { expect, onTestFinished, test } from 'vitest';
import { ballPhoto } from '../../../test/ball-photo.js';
import { site } from '../../../test/kit.js';
import { httpManifest, outsideModel, partsOfGlb } from '../../../test/model-server-kit.js';
import { TemporaryFailure } from '../stages/stage-failures.js';
import { ModelServer, type ModelServerOptions } from './model-server.js';

async function modelServer(listener: RequestListener | string, options: Partial<ModelServerOptions> = {}) {
  const url = typeof listener === 'string' ? listener : await site(listener);
  const manifest = Manifest.parse(httpManifest(url)) as HttpManifest;
  const server = new ModelServer({ manifest, timeoutMs: 30_000, rules: { allowPrivateNetwork: false }, ...options });
  onTestFinished(() => server.close());
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
  const server = await modelServer(async (request, response) => {
    if (request.method === 'POST') {
      expect(request.url).toBe('/v1/3d/generations');
      sent = (await json(request)) as object;
    }
    forms[form]!(model, request, response);
  });
  const photo = await decode(ballPhoto());
  const { glb, thumbnail, transparentThumbnail, stats } = await server.generate(photo, {
    sampler: { seed: 7, steps: 9 },
  });

  const { image = '', ...others } = sent;
  expect(others).toEqual({ model: 'trellis2-4b', response_format: 'b64_json', seed: 7, step: 9 });
  const received = await decode(Buffer.from(image, 'base64'));
  expect(Buffer.compare(received.image.data, photo.image.data)).toBe(0);

  expect(await problemOfGlb(glb)).toBeUndefined();
  const [before, after] = [partsOfGlb(model), partsOfGlb(Buffer.from(glb))];
  const credit = { name: 'outside', license: 'MIT', source: 'https://example.com/weights' };
  expect(after.asset).toEqual({ ...before.asset, extras: { ...before.asset.extras, bundles: [credit] } });
  expect(after.rest.equals(before.rest)).toBe(true);
  for (const picture of [thumbnail, transparentThumbnail]) {
    expect((await decode(picture)).image).toMatchObject({ width: 512, height: 512 });
  }
  expect(stats).toMatchObject({ bundle: 'outside', warnings: [] });
});

/** A model whose JSON states another size than its vertices have, which only the validator notices. */
const invalidModel = async () => {
  const text = (await outsideModel()).toString('latin1');
  return Buffer.from(text.replace(/(?<="max":\[-?)\d/, '9'), 'latin1');
};

test.each<[string, (response: ServerResponse) => unknown, RegExp]>([
  [
    'refuses the photo',
    (response) => sendJson(response, { error: { message: 'no object' } }, 422),
    /HTTP 422, no object/,
  ],
  ['returns no model', (response) => sendJson(response, { data: [{}] }), /neither a model nor its URL/],
  ['returns something else', (response) => response.end('<html>'), /neither a model nor its URL/],
  ['returns another file', (response) => sendJson(response, { data: [{ b64_json: 'AAAA' }] }), /not a GLB/],
  ['returns half a model', async (response) => response.end((await outsideModel()).subarray(0, 5_000)), /incomplete/],
  ['returns an invalid model', async (response) => response.end(await invalidModel()), /invalid GLB: .*MAX_MISMATCH/],
  ['returns too much', (response) => response.end(Buffer.alloc(3_000_000)), /more than 1 MiB/],
  [
    'announces too much',
    (response) => response.writeHead(200, { 'content-length': 3e6 }).flushHeaders(),
    /more than 1 MiB/,
  ],
  [
    'returns a private URL',
    (response) => sendJson(response, { data: [{ url: 'http://127.0.0.2:9/m.glb' }] }),
    /no public address/,
  ],
])('a server that %s ends the job', async (_, respond, message) => {
  const server = await modelServer((_, response) => void respond(response), { maxBytes: 1024 ** 2 });
  const error = await server.generate(await decode(ballPhoto())).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EngineError);
  expect(error).toMatchObject({ code: 'inference_failed', message: expect.stringMatching(message) });
});

test.each([401, 404, 429, 503])('while the server returns HTTP %i, the job waits', async (status) => {
  const server = await modelServer((_, response) => sendJson(response, { error: 'not now' }, status));
  const generated = server.generate(await decode(ballPhoto()));
  await expect(generated).rejects.toBeInstanceOf(TemporaryFailure);
  await expect(generated).rejects.toThrow(`HTTP ${status}, not now`);
});

test('while the server is not running, the job waits', async () => {
  const server = await modelServer('http://127.0.0.1:9');
  await expect(server.generate(await decode(ballPhoto()))).rejects.toBeInstanceOf(TemporaryFailure);
});

test.each<[string, RequestListener, RegExp]>([
  ['fails', (_, response) => sendJson(response, { error: 'out of memory' }, 500), /HTTP 500, out of memory/],
  ['disconnects', (request) => request.socket.destroy(), /./],
  ['never responds', () => {}, /took longer than 0.5 s/],
])('a server that %s costs an attempt', async (_, listener, message) => {
  const server = await modelServer(listener, { timeoutMs: 500 });
  const error = await server.generate(await decode(ballPhoto())).catch((thrown: unknown) => thrown);
  expect(error).not.toBeInstanceOf(TemporaryFailure);
  expect(error).not.toBeInstanceOf(EngineError);
  expect(String(error)).toMatch(message);
});

test('an aborted request closes its connection', async () => {
  let closed: Promise<unknown> | undefined;
  const reason = new Error('canceled');
  const abort = new AbortController();
  const server = await modelServer((_, response) => {
    closed = once(response, 'close');
    abort.abort(reason);
  });
  await expect(server.generate(await decode(ballPhoto()), { signal: abort.signal })).rejects.toBe(reason);
  await closed;
});
