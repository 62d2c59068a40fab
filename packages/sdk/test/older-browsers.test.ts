// AbortSignal.any is missing in Safari before 17.4, Chrome before 116 and Firefox before 124; URL.canParse in Safari before
// 17, Chrome before 120 and Firefox before 115; throwIfAborted in Chrome before 100. The jsdom of Jest 29 has none of them.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { jobId, task } from './server.js';

/** Runs in a process of its own, because it deletes functions before the client is loaded. */
const program = (baseUrl: string) => `
  Reflect.deleteProperty(AbortSignal, 'any');
  Reflect.deleteProperty(AbortSignal.prototype, 'throwIfAborted');
  Reflect.deleteProperty(URL, 'canParse');
  Reflect.deleteProperty(URL, 'parse');
  const { Gen3d } = await import(${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)});
  const gen3d = new Gen3d({ apiKey: 'gen3d_key', baseUrl: ${JSON.stringify(baseUrl)} });
  const { signal } = new AbortController();
  const abort = new AbortController();
  const outcome = (promise) => promise.then((value) => value.job_id ?? value.task_id, (error) => error.message);
  const created = await outcome(gen3d.jobs.create({ image: 'https://example.com/photo.jpg' }, { signal }));
  const waiting = gen3d.jobs.wait(${JSON.stringify(jobId)}, { signal: abort.signal, timeoutMs: 60_000 });
  abort.abort(new Error('canceled by the program'));
  console.log(JSON.stringify([
    created,
    await outcome(waiting),
    await outcome(gen3d.jobs.retrieve(${JSON.stringify(jobId)}, { signal: abort.signal })),
    await outcome(gen3d.jobs.retrieve('silent', { signal, timeoutMs: 100, maxRetries: 0 })),
  ]));`;

test('calls succeed, abort and time out without newer functions of signals and URLs', async () => {
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/silent')) return;
    request.resume().on('end', () => {
      response.writeHead(request.method === 'POST' ? 202 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(request.method === 'POST' ? { job_id: jobId, status: 'PENDING' } : task()));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program(url)]);
  expect(JSON.parse(stdout)).toEqual([
    jobId,
    'canceled by the program',
    'canceled by the program',
    expect.stringMatching(/ within 0\.1 s$/),
  ]);
});
