import { describe, expect, test } from 'vitest';
import { until } from '../kit.js';
import { refused, sharedServer } from './kit.js';

const { newCaller } = sharedServer();
const unknownId = '01ARZ3NDEKTSV4RRFFQ69G5FAV';

describe('4.2 GET /v1/jobs/{id}', () => {
  test('returns 200 with the task object, initially PENDING with progress 0', async () => {
    const { call, create } = await newCaller();
    const id = await create();
    const { status, body } = await call('GET', `/v1/jobs/${id}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ task_id: id, status: 'PENDING', progress: 0 });
  });

  test('sends Retry-After: 2 until the job has finished', async () => {
    const { call, create } = await newCaller();
    expect((await call('GET', `/v1/jobs/${await create()}`)).headers.get('retry-after')).toBe('2');
  });

  test('sends the position of a waiting job in the queue of all accounts', async () => {
    const [first, second] = [await newCaller(), await newCaller()];
    const position = async ({ call }: typeof first, id: string) =>
      Number((await call('GET', `/v1/jobs/${id}`)).headers.get('x-gen3d-queue-position'));
    const ids = [await first.create(), await second.create()] as const;
    // The server reads the queue at most once per second.
    await until(async () => (await position(second, ids[1])) === (await position(first, ids[0])) + 1);
  });

  test('an unknown id is 404 not_found', async () => {
    const { call, create } = await newCaller();
    const id = await create();
    for (const other of [unknownId, 'nonsense', id.toLowerCase(), `${id}0`, id.slice(1), '%20', 'a%2Fb']) {
      refused(await call('GET', `/v1/jobs/${other}`), 404, 'not_found');
    }
  });

  test('a job of another account is 404 not_found, indistinguishable from an unknown id', async () => {
    const [owner, other] = [await newCaller(), await newCaller()];
    const id = await owner.create();
    const foreign = await other.call('GET', `/v1/jobs/${id}`);
    const unknown = await other.call('GET', `/v1/jobs/${unknownId}`);
    refused(foreign, 404, 'not_found');
    expect(foreign.body).toEqual(unknown.body);
    const names = ({ headers }: typeof foreign) => [...headers.keys()].sort();
    expect(names(foreign)).toEqual(names(unknown));
  });
});
