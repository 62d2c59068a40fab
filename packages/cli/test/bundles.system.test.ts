import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { writeBallBundle } from '../../engine/src/bundle/bundle.fixture.js';
import { writeBallSkeleton } from '../../weights/src/skeleton/skeleton.fixture.js';
import { downloadLine } from '../src/terminal/progress.js';
import { discPng, site, testFolder } from './run.js';

const { begin, gen3d, path, serve } = testFolder();

/** Serves the folder `published`. If `handle` returns true, it has responded itself. */
async function serveBundles(handle?: (file: Buffer, request: IncomingMessage, response: ServerResponse) => boolean) {
  const { url } = await site(async (request, response) => {
    const file = await readFile(path('published', request.url!)).catch(() => undefined);
    if (!file) response.writeHead(404).end();
    else if (!handle?.(file, request, response)) response.end(file);
  });
  return url;
}

/** Makes a catalog of the bundles in `published`, whose files are at `url`. @returns the variable for its folder */
async function catalogAt(url: string) {
  const bundles = await Promise.all(
    ['ball', 'odd'].map(async (name) => {
      const manifest = JSON.parse(await readFile(path('published', name, 'manifest.json'), 'utf8'));
      const files = ['encoder.onnx', 'decoder.onnx'];
      return { manifest, urls: Object.fromEntries(files.map((file) => [file, `${url}/${name}/${file}`])) };
    }),
  );
  await mkdir(path('catalog'), { recursive: true });
  await writeFile(path('catalog', 'catalog.json'), JSON.stringify({ formatVersion: 1, bundles }));
  return { GEN3D_MODELS_DIR: path('catalog') };
}

beforeAll(async () => {
  await writeBallBundle(path('published'), 'ball', { kind: 'planes', radius: 0.55 });
  await writeBallBundle(path('published'), 'odd', { kind: 'planes', decoder: { planeSize: 64 } });
  await writeFile(path('cup.png'), discPng());
});

describe('models pull', () => {
  beforeEach(() => removeBundle('ball'));

  test('downloads a bundle to the data directory, and prints its path and licenses', async () => {
    const env = await catalogAt(await serveBundles());
    const { code, stdout, stderr } = await gen3d(['models', 'pull', 'ball'], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${path('data', 'models', 'ball')}\n` });
    expect(stderr).toContain('Downloading encoder.onnx (25 kB in total)\n');
    expect(stderr).toContain('✔ A ball, 25 kB\n');
    expect(stderr).toContain('weights: MIT');
    expect((await gen3d(['models', 'list'])).stdout).toMatch(/^ball +reconstruction +25 kB +weights: MIT$/m);
    expect(await gen3d(['models', 'verify', 'ball'])).toMatchObject({ code: 0, stderr: '✔ ball\n' });
  });

  test('is offered by `models list` for the bundles of the catalog', async () => {
    const { stderr: offers } = await gen3d(['models', 'list']);
    expect(offers).toContain('`gen3d models pull u2net` downloads U2-Net, 176.0 MB');
    expect(offers).toContain('`gen3d models pull triposr` downloads TripoSR, 1.7 GB');
  });

  test.each(['SIGINT', 'SIGKILL'] as const)('resumes after %s', async (signal) => {
    const ranges: Array<string | undefined> = [];
    let half: () => void = () => {};
    const halfway = new Promise<void>((resolve) => {
      half = resolve;
    });
    const served = await serveBundles((file, { url, headers }, response) => {
      if (url !== '/ball/encoder.onnx') return false;
      ranges.push(headers.range);
      const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
      const range = { 'content-range': `bytes ${from}-${file.length - 1}/${file.length}` };
      response.writeHead(from ? 206 : 200, { 'content-length': file.length - from, ...(from && range) });
      if (from) response.end(file.subarray(from));
      else response.write(file.subarray(0, 9000), half);
      return true;
    });
    const env = await catalogAt(served);
    const { child, ended } = begin(['models', 'pull', 'ball'], env);
    await halfway;
    await reachesSize(path('data', 'models', '.ball.pull', 'encoder.onnx'), 9000);
    child.kill(signal);
    const { code, stderr } = await ended;
    if (signal === 'SIGINT') {
      expect(stderr).toContain('Interrupted. Run the same command to resume.');
      expect(code).toBe(130);
    }
    expect((await gen3d(['models', 'list'])).stdout).not.toContain('ball');
    expect((await gen3d(['models', 'pull', 'ball'], { env })).code).toBe(0);
    expect(ranges).toEqual([undefined, 'bytes=9000-']);
    expect((await gen3d(['models', 'verify', 'ball'])).code).toBe(0);
  });

  test('rejects a bundle that does not match its manifest, and names the file, the tensor and both shapes', async () => {
    const env = await catalogAt(await serveBundles());
    const { code, stderr } = await gen3d(['models', 'pull', 'odd'], { env });
    expect(stderr).toMatch(
      /error: .*encoder\.onnx: output "scene_codes" has the shape \[1, 3, 2, 32, 32\], its manifest says \[1, 3, 2, 64, 64\]\n/,
    );
    expect(code).toBe(1);
    expect(existsSync(path('data', 'models', 'odd'))).toBe(false);
  });

  test('uses HTTP_PROXY, except for hosts in NO_PROXY', async () => {
    const url = await serveBundles();
    const requests: string[] = [];
    const proxy = await site((request, response) => {
      requests.push(request.url!);
      forward(request.url!, { headers: request.headers }, (forwarded) => {
        response.writeHead(forwarded.statusCode!, forwarded.headers);
        forwarded.pipe(response);
      }).end();
    });
    proxy.server.on('connect', ({ url: host }, socket) => {
      requests.push(host!);
      const [name, port] = host!.split(':');
      const upstream = connect(Number(port), name, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(upstream).pipe(socket);
      });
      upstream.on('error', () => socket.destroy());
      socket.on('error', () => upstream.destroy());
    });
    const env = { ...(await catalogAt(url)), HTTP_PROXY: proxy.url };
    expect(await gen3d(['models', 'pull', 'ball'], { env })).toMatchObject({ code: 0 });
    expect(requests.length).toBeGreaterThan(0);
    await removeBundle('ball');
    requests.length = 0;
    const bypassed = { ...env, NO_PROXY: '127.0.0.1' };
    expect(await gen3d(['models', 'pull', 'ball'], { env: bypassed })).toMatchObject({ code: 0 });
    expect(requests).toEqual([]);
  });
});

describe('models pull of a published checkpoint', () => {
  beforeEach(() => removeBundle('ball'));

  /** Sets up a catalog in GEN3D_MODELS_DIR with a bundle that needs a published checkpoint. */
  async function catalog(handle?: Parameters<typeof serveBundles>[0]) {
    const { models, checkpoint } = await writeBallSkeleton(path('published'), await serveBundles(handle));
    return { checkpoint, env: { GEN3D_MODELS_DIR: models } };
  }

  test('prints its requirements and creates a bundle', async () => {
    const { env } = await catalog();
    const { code, stderr } = await gen3d(['models', 'pull', 'ball', '--precision', 'fp16'], { env });
    expect(stderr).toMatch(
      /A ball: 25 kB to download, 37 kB on disk \([\d.]+ GB free\)\. On a CPU, it uses about 1\.0 GB of memory\n/,
    );
    expect(stderr).toContain('✔ A ball (fp16)');
    expect(code).toBe(0);
    expect(await gen3d(['models', 'verify', 'ball'])).toMatchObject({ code: 0 });
  });

  test('uses a local file', async () => {
    const { checkpoint, env } = await catalog((_, __, response) => response.writeHead(500).end() && true);
    expect(await gen3d(['models', 'pull', 'ball', '--from', checkpoint], { env })).toMatchObject({ code: 0 });
  });
});

describe('models use', () => {
  beforeAll(async () => {
    await writeBallBundle(path('mine'), 'ball', { kind: 'planes', radius: 0.55 });
    await writeBallBundle(path('mine'), 'odd', { kind: 'planes', decoder: { planeSize: 64 } });
  });
  const env = () => ({ GEN3D_MODELS_DIR: path('mine') });
  const bundleOf = async (glb: string) =>
    /"bundles":\[\{"name":"([^"]+)"/.exec(await readFile(path(glb), 'latin1'))?.[1];

  test('sets the default bundle, which a server then uses', async () => {
    const chosen = await gen3d(['models', 'use', 'ball'], { env: env() });
    expect(chosen.stderr).toContain(`✔ ball is the default bundle of ${path('data')}`);
    expect(chosen.code).toBe(0);
    expect((await gen3d(['models', 'list'], { env: env() })).stdout).toMatch(/^ball .*in use/m);
    await writeFile(path('gen3d.json'), JSON.stringify({ modelsDir: path('mine') }));
    const server = await serve('--config', path('gen3d.json'));
    expect((await gen3d(['create', 'cup.png', '--wait'])).code).toBe(0);
    server.child.kill('SIGTERM');
    await server.ended;
    expect(await bundleOf('cup.glb')).toBe('ball');
  }, 180_000);

  test('reports that a variable overrides the default', async () => {
    const { code, stderr } = await gen3d(['models', 'use', 'ball'], { env: { ...env(), GEN3D_BUNDLE: 'inflate' } });
    expect(stderr).toContain('But inflate is in use: a flag, GEN3D_BUNDLE or a config file overrides the default');
    expect(code).toBe(0);
  });

  test('accepts the path of a bundle', async () => {
    const { code, stdout } = await gen3d(['models', 'use', './mine/ball', '--json']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${JSON.stringify({ bundle: path('mine', 'ball') })}\n` });
    expect((await gen3d(['models', 'list'])).stdout).toMatch(/\/mine\/ball +reconstruction .*in use/);
  });

  test('of a matting bundle changes only the matting default', async () => {
    await gen3d(['models', 'use', 'inflate']);
    expect((await gen3d(['models', 'use', 'isnet'])).stderr).toContain('isnet is the default matting bundle');
    expect(JSON.parse(await readFile(path('data', 'models', 'default.json'), 'utf8'))).toEqual({
      bundle: 'inflate',
      matte: 'isnet',
    });
  });

  test('rejects a missing bundle, and one that does not match its manifest', async () => {
    await gen3d(['models', 'use', 'inflate']);
    const missing = await gen3d(['models', 'use', 'bowl']);
    expect(missing).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/No bundle is named bowl\. `gen3d models list`/),
    });
    const odd = await gen3d(['models', 'use', 'odd'], { env: env() });
    expect(odd).toMatchObject({ code: 1, stderr: expect.stringContaining('its manifest says [1, 3, 2, 64, 64]') });
    expect(await readFile(path('data', 'models', 'default.json'), 'utf8')).toContain('"inflate"');
  });
});

test('the progress of a download has a bar, the size, the speed and the remaining time', () => {
  const progress = { file: 'encoder.onnx', received: 420_000_000, total: 840_000_000 };
  expect(downloadLine(progress, 120_000_000, 10_000)).toBe(
    'encoder.onnx  ████████████░░░░░░░░░░░░  420.0 MB of 840.0 MB, 12.0 MB/s, 35.0 s left',
  );
  expect(downloadLine(progress, 0, 0)).toBe('encoder.onnx  ████████████░░░░░░░░░░░░  420.0 MB of 840.0 MB');
});

async function removeBundle(name: string): Promise<void> {
  await rm(path('data', 'models', name), { recursive: true, force: true });
}

async function reachesSize(file: string, size: number): Promise<void> {
  while ((await stat(file).catch(() => undefined))?.size !== size) await setTimeout(20);
}
