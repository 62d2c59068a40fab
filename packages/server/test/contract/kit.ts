import { randomUUID } from 'node:crypto';
import { CreateJobResponse, ErrorBody, ListJobsResponse, Task } from '@gen3d/schema';
import { openApiDocument } from '@gen3d/schema/openapi';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Admin } from '../../src/index.js';
import { type ApiResponse, adminOf, startServer, type TestServer } from '../kit.js';

interface Response {
  $ref?: string;
  content?: unknown;
}
const document = openApiDocument() as ReturnType<typeof openApiDocument> & {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
};

const ajv = new Ajv2020({
  strict: false, // the document contains more than schemas
  allErrors: true,
  formats: { uri: (text) => URL.canParse(text), 'date-time': (text) => new Date(text).toISOString() === text },
});
ajv.addSchema(document, 'openapi.json');

const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');
const routes = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/**
 * How a response violates the OpenAPI document: an undocumented status, or a body of another shape. Undefined if it does
 * not, and for routes that the document does not have.
 */
function undocumented(method: string, target: string, { status, body }: ApiResponse): string | undefined {
  const pathname = target.split('?', 1)[0] ?? '';
  const route = routes.find(({ pattern }) => pattern.test(pathname));
  const operation = route && document.paths[route.path]?.[method.toLowerCase()];
  if (!route || !operation) return undefined;
  const response = operation.responses[status];
  if (!response) return `${method} ${route.path} returned an undocumented ${status}`;
  const at = response.$ref?.slice(1) ?? `/paths/${escaped(route.path)}/${method.toLowerCase()}/responses/${status}`;
  const content = response.$ref ? true : response.content;
  if (!content) return body === '' ? undefined : `${method} ${route.path} returned ${status} with a body`;
  if (!response.$ref && !('application/json' in (content as object))) return undefined;
  const validate = ajv.compile({ $ref: `openapi.json#${at}/content/application~1json/schema` });
  if (validate(body)) return undefined;
  return `${method} ${route.path} returned ${status} with ${JSON.stringify(body)}: ${ajv.errorsText(validate.errors)}`;
}

export const photoUrl = 'https://example.com/photo.jpg';
export const photoJob = (extra: Record<string, unknown> = {}) => ({
  type: 'image-to-3d',
  input: { image_urls: [photoUrl] },
  ...extra,
});
/** A job with photos of several sides. */
export const withViews = (views: unknown, front = photoUrl) => photoJob({ input: { image_urls: [front], views } });
export const withImages = (...image_urls: unknown[]) => photoJob({ input: { image_urls } });

type Call = (method: string, path: string, body?: unknown) => Promise<ApiResponse>;

/** A separate account, so that tests that share a server share nothing else. */
export interface Caller {
  accountId: string;
  apiKey: string;
  /** Calls the API with the account's key. The response must match the OpenAPI document. */
  call: Call;
  /** Creates a job and returns its id. */
  create(body?: unknown): Promise<string>;
  task(id: string): Promise<Task>;
  list(query?: string): Promise<ListJobsResponse>;
}

export function callerOf(accountId: string, apiKey: string, send: Call): Caller {
  const call: Call = async (method, path, body) => {
    const response = await send(method, path, body);
    expect(undocumented(method, path, response)).toBeUndefined();
    return response;
  };
  return {
    accountId,
    apiKey,
    call,
    async create(body = photoJob()) {
      const response = await call('POST', '/v1/jobs', body);
      expect(response.status).toBe(202);
      return CreateJobResponse.parse(response.body).job_id;
    },
    task: async (id) => Task.parse((await call('GET', `/v1/jobs/${id}`)).body),
    list: async (query = '') => ListJobsResponse.parse((await call('GET', `/v1/jobs${query}`)).body),
  };
}

/** One real server on loopback for all tests of a file. */
export function sharedServer(settings: Record<string, unknown> = {}) {
  let server: TestServer;
  let admin: Admin;
  const cleanups: (() => void | Promise<void>)[] = [];
  beforeAll(async () => {
    server = await startServer(settings, { atEnd: (cleanup) => void cleanups.push(cleanup) });
    admin = await adminOf(server, (cleanup) => void cleanups.push(cleanup));
  });
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });
  return {
    server: () => server,
    admin: () => admin,
    async newCaller(balanceUsd = 10): Promise<Caller> {
      const { account_id } = await admin.createAccount(`customer ${randomUUID()}`, balanceUsd);
      const { api_key } = await admin.createKey(account_id);
      return callerOf(account_id, api_key, (method, path, body) => server.call(method, path, body, api_key));
    },
  };
}

/** Checks that an error response has the standard shape and no other fields. Returns its message. */
export function refused({ status, body }: ApiResponse, expectedStatus: number, code: string): string {
  expect(status).toBe(expectedStatus);
  expect(body).toEqual({ error: { code, message: expect.any(String) } });
  return ErrorBody.parse(body).error.message;
}
