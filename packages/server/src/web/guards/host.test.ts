import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import pino from 'pino';
import { expect, test } from 'vitest';
import { freePort } from '../../../test/free-port.js';
import { startServer } from '../../../test/kit.js';

/** The status of `GET path` with this Host, and the error message. */
function statusFor(
  port: number,
  host: string,
  path = '/openapi.json',
): Promise<{ status?: number | undefined; message?: string | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, headers: { host } });
    sent.on('response', async (response) => {
      const body = (await json(response)) as { error?: { message: string } };
      resolve({ status: response.statusCode, message: body.error?.message });
    });
    sent.on('error', reject).end();
  });
}

test('a server on loopback refuses foreign host names on every route', async () => {
  const { port } = await startServer();
  for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1', `127.0.0.1:${port}`, '[::1]:8787']) {
    expect(await statusFor(port, host), host).toEqual({ status: 200 });
  }
  for (const path of ['/openapi.json', '/metrics', '/dashboard/api/session', '/v1/jobs', '/assets/a/b/model.glb']) {
    for (const host of [`evil.example:${port}`, '127.0.0.1.evil.example', '192.168.1.5', 'a b', 'x'.repeat(5_000)]) {
      const { status, message } = await statusFor(port, host, path);
      expect([host, status]).toEqual([host, 421]);
      expect(message).toContain('--public-url');
      expect(message?.length).toBeLessThan(400);
    }
  }
});

test('probes respond under any host name, and so does a metrics port that is not on loopback', async () => {
  const metricsPort = await freePort();
  const settings = { host: '0.0.0.0', allowedHost: 'gen3d.example', metricsPort, metricsHost: '0.0.0.0' };
  for (const { port } of [await startServer(), await startServer(settings)]) {
    expect(await statusFor(port, '10.1.2.3:8787', '/healthz')).toEqual({ status: 200 });
    // There are no runners.
    expect((await statusFor(port, 'any.example', '/readyz')).status).toBe(503);
    expect((await statusFor(port, 'any.example')).status).toBe(421);
  }
  for (const path of ['/healthz', '/metrics']) {
    const response = await fetch(`http://127.0.0.2:${metricsPort}${path}`);
    expect([path, response.status]).toEqual([path, 200]);
  }
});

test('a server on loopback accepts the hosts of the public URL and the assets URL, which a proxy may forward', async () => {
  const settings = { publicUrl: 'https://gen3d.example.com', assetsUrl: 'https://cdn.example.com/models' };
  const { port } = await startServer(settings);
  for (const host of ['gen3d.example.com', 'gen3d.example.com:443', 'cdn.example.com', 'localhost']) {
    expect((await statusFor(port, host)).status, host).toBe(200);
  }
  expect((await statusFor(port, 'example.com')).status).toBe(421);
});

test('a server on all addresses accepts any host name, and warns if only its own machine can open its model URLs', async () => {
  let lines = '';
  const log = pino({ level: 'warn' }, { write: (line: string) => (lines += line) });
  const { port } = await startServer({ host: '0.0.0.0' }, { log });
  expect((await statusFor(port, 'gpu-box')).status).toBe(200);
  expect(lines).toContain(`http://127.0.0.1:${port}/assets`);
  expect(lines).toContain('--public-url');

  lines = '';
  await startServer({ host: '0.0.0.0', publicUrl: 'http://gpu-box:8787' }, { log });
  await startServer({ host: '127.0.0.1' }, { log });
  expect(lines).toBe('');
});

test('Strict-Transport-Security does not include subdomains', async () => {
  const { url } = await startServer();
  const response = await fetch(`${url}/openapi.json`);
  expect(response.headers.get('strict-transport-security')).toMatch(/^max-age=\d+$/);
});

test('a request target that names another host than ours, or than the header, is refused on every server', async () => {
  for (const host of ['127.0.0.1', '0.0.0.0']) {
    const { port } = await startServer({ host });
    const statusOf = async (target: string, header: string) => (await statusFor(port, header, target)).status;
    for (const foreign of ['http://evil.example/openapi.json', 'ftp://localhost.evil/openapi.json']) {
      expect([host, foreign, await statusOf(foreign, 'localhost')]).toEqual([host, foreign, 421]);
    }
    expect(await statusOf(`http://localhost:${port}/openapi.json`, `localhost:${port}`)).toBe(200);
  }
});

test('with --allowed-host, a server on all addresses accepts these names and its own, and refuses others', async () => {
  const { port } = await startServer({ host: '0.0.0.0', allowedHost: 'gpu-box, [fd00::1]' });
  for (const host of ['gpu-box', `GPU-box:${port}`, '[fd00::1]:80', 'localhost', '127.0.0.1']) {
    expect([host, (await statusFor(port, host)).status]).toEqual([host, 200]);
  }
  for (const host of ['evil.example', '0.0.0.0.evil.example']) {
    expect([host, (await statusFor(port, host)).status]).toEqual([host, 421]);
  }
});
