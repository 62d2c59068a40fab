import { CreateJobResponse } from '@gen3d/schema';
import { GalleryJob, GalleryPage } from '@gen3d/schema/dashboard';
import { openApiDocument } from '@gen3d/schema/openapi';
import { describe, expect, test } from 'vitest';
import { type Caller, refused, sharedServer } from './kit.js';

const { newCaller, server } = sharedServer();
const unknownId = '01J9ZC3W8Q4V5N6M7P8R9S0T1A';

/** The routes that the tests of this file have called, as `get /gen3d/jobs/{id}`. */
const called = new Set<string>();

/** A caller whose responses below /gen3d must be described in the OpenAPI document. */
async function describedCaller(): Promise<Caller> {
  const caller = await newCaller();
  const call: Caller['call'] = (method, path, body) => {
    called.add(`${method.toLowerCase()} ${path.split('?')[0]!.replace(/01[0-9A-Z]{24}/, '{id}')}`);
    return caller.call(method, path, body);
  };
  return { ...caller, call };
}

describe("gen3d's own routes respond as the OpenAPI document says:", () => {
  test('list and search', async () => {
    const { call, create } = await describedCaller();
    const id = await create();
    const page = await call('GET', '/gen3d/jobs?search=photo&limit=1');
    expect(GalleryPage.parse(page.body).jobs.map(({ task_id }) => task_id)).toEqual([id]);
    refused(await call('GET', '/gen3d/jobs?group=open'), 400, 'invalid_request');
    refused(await call('GET', '/gen3d/jobs?cursor=abc'), 400, 'invalid_cursor');
  });

  test('cancel, retry and delete', async () => {
    const { call, create } = await describedCaller();
    const id = await create();
    refused(await call('POST', `/gen3d/jobs/${id}/retry`), 409, 'not_retryable');
    expect(GalleryJob.parse((await call('POST', `/gen3d/jobs/${id}/cancel`)).body).status).toBe('CANCELED');
    refused(await call('POST', `/gen3d/jobs/${id}/cancel`), 409, 'not_cancelable');
    const retried = await call('POST', `/gen3d/jobs/${id}/retry`);
    expect(retried.status).toBe(202);
    const { job_id } = CreateJobResponse.parse(retried.body);
    expect(GalleryJob.parse((await call('GET', `/gen3d/jobs/${job_id}`)).body).task_id).toBe(job_id);
    expect(await call('DELETE', `/gen3d/jobs/${job_id}`)).toMatchObject({ status: 204, body: '' });
    for (const path of ['', '/cancel', '/retry', '/share', '/events']) {
      const method = { '': 'GET', '/share': 'PUT', '/events': 'GET' }[path] ?? 'POST';
      refused(await call(method, `/gen3d/jobs/${unknownId}${path}`), 404, 'not_found');
    }
  });

  test('share and unshare', async () => {
    const { call, create } = await describedCaller();
    const id = await create();
    refused(await call('PUT', `/gen3d/jobs/${id}/share`), 404, 'not_found');
    expect((await call('DELETE', `/gen3d/jobs/${id}/share`)).status).toBe(204);
  });

  test('streams', async () => {
    const { call, create, apiKey } = await describedCaller();
    const id = await create();
    await call('POST', `/gen3d/jobs/${id}/cancel`);
    const { status, body } = await call('GET', `/gen3d/jobs/${id}/events`);
    expect([status, body]).toEqual([200, expect.stringContaining('"CANCELED"')]);
    // Has no end, so it cannot be called like the others.
    called.add('get /gen3d/events');
    const controller = new AbortController();
    const response = await fetch(`${server().url}/gen3d/events`, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: controller.signal,
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    controller.abort();
  });

  test('and these are all', () => {
    const { paths } = openApiDocument() as { paths: Record<string, object> };
    const described = Object.entries(paths)
      .filter(([path]) => path.startsWith('/gen3d/'))
      .flatMap(([path, operations]) => Object.keys(operations).map((method) => `${method} ${path}`));
    expect([...called].toSorted()).toEqual(described.toSorted());
  });
});
