// AbortSignal.any is missing in Safari before 17.4, Chrome before 116 and Firefox before 124.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';

// Before the import of the client, which must not need it.
Reflect.deleteProperty(AbortSignal, 'any');
const { Gen3d, RequestTimeoutError } = await import('../src/index.js');
const { jobId, jpeg, task } = await import('./server.js');

test('calls succeed, abort and time out without AbortSignal.any', async () => {
  let silent = false;
  const server = createServer((request, response) => {
    if (silent) return;
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
  const gen3d = new Gen3d({
    apiKey: 'gen3d_key',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  const { signal } = new AbortController();
  expect(await gen3d.jobs.create({ image: jpeg }, { signal })).toMatchObject({ job_id: jobId });
  silent = true;
  const abort = new AbortController();
  const waiting = gen3d.jobs.wait(jobId, { signal: abort.signal, timeoutMs: 60_000 });
  abort.abort(new Error('canceled by the test'));
  await expect(waiting).rejects.toThrow('canceled by the test');
  await expect(gen3d.jobs.retrieve(jobId, { signal: abort.signal })).rejects.toThrow('canceled by the test');
  await expect(gen3d.jobs.retrieve(jobId, { signal, timeoutMs: 100 })).rejects.toBeInstanceOf(RequestTimeoutError);
});
