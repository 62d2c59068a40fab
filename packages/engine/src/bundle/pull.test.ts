import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkBundle } from '../check-bundle.js';
import { writeBallBundle } from './bundle.fixture.js';
import { findBundle, verifyBundle } from './load-bundle.js';
import { type PullOptions, type PullProgress, pullBundle } from './pull.js';

let folder: string;
let models: string;
let server: Server;
let address: string;
/** What was asked for, with the Range it was asked with. */
let asked: string[];
/** How the encoder is served; everything else is served as it should be. */
let serveEncoder: (file: Buffer, request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-pull-'));
  models = join(folder, 'models');
  await writeBallBundle(folder, 'ball', { kind: 'planes' });
  asked = [];
  serveEncoder = serve;
  etagOf = (file) => `"${createHash('md5').update(file).digest('hex')}"`;
  server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost');
    asked.push([pathname, request.headers.range].filter(Boolean).join(' '));
    const file = await readFile(join(folder, pathname)).catch(() => undefined);
    // Longer than undici's buffer: an unread response whose connection closes would end the process.
    if (!file) response.writeHead(404, { connection: 'close' }).end(Buffer.alloc(40_000));
    else if (pathname.endsWith('/encoder.onnx')) serveEncoder(file, request, response);
    else serve(file, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

let etagOf: (file: Buffer) => string | undefined;

/** A response that breaks off once the client has got so far. */
let held: { response: ServerResponse; until: number } | undefined;

/** As a server should: a range if the version is the one that was asked for, else all of it; `most` of it, then it breaks off. */
function serve(file: Buffer, { headers }: IncomingMessage, response: ServerResponse, most = file.length): void {
  const etag = etagOf(file);
  const [, from] = /^bytes=(\d+)-$/.exec(headers.range ?? '') ?? [];
  const isRange = from !== undefined && (headers['if-range'] === undefined || headers['if-range'] === etag);
  const start = isRange ? Number(from) : 0;
  const rest = file.subarray(start);
  const range = { 'content-range': `bytes ${start}-${file.length - 1}/${file.length}` };
  response.writeHead(isRange ? 206 : 200, {
    'content-length': rest.length,
    ...(etag && { etag }),
    ...(isRange && range),
  });
  if (rest.length <= most) response.end(rest);
  else breakOff(response, rest.subarray(0, most), start + most);
}

function breakOff(response: ServerResponse, bytes: Buffer, until: number): void {
  held = { response, until };
  response.write(bytes);
}

const pull = (from = `${address}/ball`, options: Partial<PullOptions> = {}) =>
  pullBundle(from, { directory: models, modelDirs: [models], check: checkBundle, pauseMs: 1, onProgress, ...options });

function onProgress({ file, received }: PullProgress): void {
  if (file !== 'encoder.onnx' || received !== held?.until) return;
  held.response.destroy();
  held = undefined;
}

const rangesOfEncoder = () =>
  asked.filter((line) => line.startsWith('/ball/encoder.onnx')).map((line) => line.slice(18).trim());
const expectNothingInstalled = () => expect(findBundle('ball', [models])).rejects.toThrow(/No bundle called ball/);

test('a bundle is fetched, checked and found, and nothing else is left behind', async () => {
  await writeFile(join(folder, 'ball', 'NOTICE.md'), 'Give credit.');
  const bundle = await pull();
  expect(bundle).toEqual(await findBundle('ball', [models]));
  await verifyBundle(bundle);
  expect(await readFile(join(bundle.directory, 'NOTICE.md'), 'utf8')).toBe('Give credit.');
  expect(await readdir(models)).toEqual(['ball']);
  expect((await readdir(bundle.directory)).sort()).toEqual([
    'NOTICE.md',
    'decoder.onnx',
    'encoder.onnx',
    'manifest.json',
  ]);
});

test.each(['/ball', '/ball/', '/ball/manifest.json', '/ball/manifest.json?key=1'])(
  'its address may be %s',
  async (path) => {
    expect((await pull(address + path)).manifest.name).toBe('ball');
  },
);

test('what follows the ? of the address goes with every request', async () => {
  const keys: string[] = [];
  server.on('request', ({ url }: IncomingMessage) => keys.push(new URL(url!, address).search));
  await pull(`${address}/ball?key=secret`);
  expect(new Set(keys)).toEqual(new Set(['?key=secret']));
});

test('a bundle of the catalogue is fetched from wherever its files lie', async () => {
  const manifest = JSON.parse(await readFile(join(folder, 'ball', 'manifest.json'), 'utf8')) as object;
  const urls = { 'encoder.onnx': `${address}/ball/encoder.onnx`, 'decoder.onnx': `${address}/ball/decoder.onnx` };
  const catalogue = { formatVersion: 1, bundles: [{ manifest, urls }] };
  await writeFile(join(folder, 'catalogue.json'), JSON.stringify(catalogue));
  const bundle = await pull('ball', { modelDirs: [folder, models].reverse() });
  await verifyBundle(bundle);
  await expect(pull('cube', { modelDirs: [folder, models] })).rejects.toThrow(
    'No catalogue lists a bundle called cube; there are ball. Give the address of its manifest.json',
  );
});

test('a bundle that is not made of a checkpoint has no precisions', async () => {
  const refusal = 'ball is not made of a checkpoint: it has no precisions and no other weights';
  await expect(pull(undefined, { checkpoint: { precision: 'fp16' } })).rejects.toThrow(refusal);
});

test('progress only grows, from file to file, up to the size of the bundle', async () => {
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

describe('a connection that breaks', () => {
  test('again and again: each next one asks for the rest only', async () => {
    serveEncoder = (file, request, response) => serve(file, request, response, 6000);
    await verifyBundle(await pull());
    const { length } = await readFile(join(folder, 'ball', 'encoder.onnx'));
    const starts = Array.from({ length: Math.ceil(length / 6000) - 1 }, (_, i) => `bytes=${6000 * (i + 1)}-`);
    expect(rangesOfEncoder()).toEqual(['', ...starts]);
  });

  test('with a server that ignores Range: it starts again, and ends well', async () => {
    let most = 6000;
    serveEncoder = (file, request, response) => {
      request.headers.range = undefined;
      serve(file, request, response, most);
      most *= 4;
    };
    await verifyBundle(await pull());
    expect(rangesOfEncoder()).toHaveLength(3);
  });

  test('while the file is replaced by another: with an ETag the new one is fetched from its start', async () => {
    replaceAfterBreak();
    await verifyBundle(await pull());
    expect(rangesOfEncoder()).toEqual(['', 'bytes=6000-']);
  });

  test('while the file is replaced by another: without an ETag the checksum tells, and it starts again', async () => {
    replaceAfterBreak();
    etagOf = () => undefined;
    await verifyBundle(await pull());
    expect(rangesOfEncoder()).toEqual(['', 'bytes=6000-', '']);
  });

  /** The first 6,000 bytes are an older version's, of the same size. */
  function replaceAfterBreak(): void {
    let first = true;
    serveEncoder = (file, request, response) => {
      serve(first ? Buffer.from(file).fill(7) : file, request, response, first ? 6000 : file.length);
      first = false;
    };
  }

  test('before anything comes, five times: says so, and nothing is installed', async () => {
    serveEncoder = (_, request) => request.destroy();
    await expect(pull()).rejects.toThrow(/encoder\.onnx cannot be fetched: /);
    expect(rangesOfEncoder()).toHaveLength(5);
    await expectNothingInstalled();
  });
});

test('what an interrupted pull has brought, the next one goes on with', async () => {
  const stop = new AbortController();
  serveEncoder = (file, request, response) => serve(file, request, response, 6000);
  const interrupt = ({ received }: PullProgress) => received === 6000 && stop.abort(new Error('enough'));
  await expect(pull(undefined, { signal: stop.signal, onProgress: interrupt })).rejects.toThrow('enough');
  await expectNothingInstalled();
  asked = [];
  serveEncoder = serve;
  await verifyBundle(await pull());
  expect(rangesOfEncoder()).toEqual(['bytes=6000-']);
});

test('a busy server is asked again after the time it gives', async () => {
  let answers = 0;
  serveEncoder = (file, request, response) => {
    if (answers++ < 2) response.writeHead(503, { 'retry-after': '0' }).end();
    else serve(file, request, response);
  };
  await verifyBundle(await pull());
});

describe('what is not the file of the manifest is refused at once, and nothing is installed', () => {
  test.each<[string, typeof serveEncoder, RegExp]>([
    [
      'wrong bytes of the right number',
      (file, request, response) => serve(Buffer.from(file).fill(7), request, response),
      /encoder\.onnx is not the file that the manifest describes: SHA-256 [0-9a-f]{64}, expected/,
    ],
    [
      'a file of another length',
      (file, request, response) => serve(file.subarray(1), request, response),
      /encoder\.onnx is not the file that the manifest describes: it has \d+ bytes, expected \d+/,
    ],
    [
      'more than it should be, of no stated length',
      (file, _, response) => {
        response.write(file);
        response.end(file);
      },
      /more came than its \d+ bytes/,
    ],
    [
      'a page saying that it is gone',
      (_, __, response) => response.writeHead(410).end('gone'),
      /the server answered 410/,
    ],
  ])('%s', async (_, misbehave, words) => {
    serveEncoder = misbehave;
    await expect(pull()).rejects.toThrow(words);
    expect(rangesOfEncoder()).toHaveLength(1);
    await expectNothingInstalled();
  });
});

describe('a server that can never give all of it is given up on', () => {
  test.each<[string, typeof serveEncoder, RegExp]>([
    [
      'because it answers with another part than it was asked for',
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
        breakOff(response, file.subarray(0, -10), file.length - 10);
      },
      /encoder\.onnx cannot be fetched: /,
    ],
    ['because it is always busy', (_, __, response) => response.writeHead(503).end(), /the server answered 503/],
  ])('%s', async (_, misbehave, words) => {
    serveEncoder = misbehave;
    await expect(pull()).rejects.toThrow(words);
    await expectNothingInstalled();
  });
});

describe('a bundle that is no good is never installed', () => {
  test('whose manifest is none', async () => {
    await writeFile(join(folder, 'ball', 'manifest.json'), '{"formatVersion": 2}');
    await expect(pull()).rejects.toThrow(/\/ball\/manifest\.json is not a manifest/);
  });

  test('that is not there', async () => {
    await expect(pull(`${address}/cube`)).rejects.toThrow(
      /\/cube\/manifest\.json cannot be fetched: the server answered 404/,
    );
  });

  test('whose graphs do not fit its manifest', async () => {
    await rm(join(folder, 'ball'), { recursive: true });
    await writeBallBundle(folder, 'ball', { kind: 'planes', decoder: { planeChannels: 40 } });
    await expect(pull()).rejects.toThrow(
      /encoder\.onnx: output "scene_codes" has the shape \[1, 3, 2, 32, 32\], its manifest says \[1, 3, 40, 32, 32\]/,
    );
    await expectNothingInstalled();
  });

  test('that another folder, searched before, has one of the same name of', async () => {
    await expect(pull(undefined, { modelDirs: [folder, models] })).rejects.toThrow(
      `There is a bundle called ball in ${folder} already, which would be found before`,
    );
  });
});

test('a new version takes the place of the old one, and one that is there already is not fetched again', async () => {
  await pull();
  asked = [];
  await pull();
  expect(asked).toEqual(['/ball/manifest.json', '/ball/NOTICE.md']);
  await writeBallBundle(folder, 'ball', { kind: 'points', radius: 0.3 });
  const { manifest, directory } = await pull();
  expect(manifest).toMatchObject({ decoder: { kind: 'points' } });
  await verifyBundle({ manifest, directory });
  expect(await readdir(models)).toEqual(['ball']);
});

test('of two pulls of one bundle at once, the second is told of the first', async () => {
  let second: Promise<unknown> | undefined;
  serveEncoder = async (file, request, response) => {
    second ??= pull().catch((error: unknown) => error);
    await second;
    serve(file, request, response);
  };
  await verifyBundle(await pull());
  expect(await second).toMatchObject({
    message: expect.stringContaining(`Process ${process.pid} is pulling this bundle`),
  });
});
