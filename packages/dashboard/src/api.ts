import { ErrorBody } from '@gen3d/schema/dashboard';
import type { ZodMiniType } from 'zod/mini';

/** A request that the server refused. `status` is 0 if it could not be reached. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Checks the body of a response. @throws {ApiError} if the server and this page are of different versions */
export function parseResponse<T>(schema: ZodMiniType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  console.error(result.error);
  throw new ApiError(0, 'This page does not understand the server’s response. Reload the page.');
}

/** Calls the routes below /dashboard/api. The methods throw {@link ApiError}. */
export interface Api {
  get<T>(path: string, schema: ZodMiniType<T>): Promise<T>;
  /** Downloads a file. Undefined if the server has no such file. */
  getFile(path: string): Promise<Blob | undefined>;
  /** Resolves to the body of the response, which is undefined if there is none. */
  send(
    method: 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<unknown>;
}

/** Makes a client that acts for an account. It calls `onSignedOut` when the session has ended. */
export function createApi(accountId: string | undefined, onSignedOut: () => void = () => {}): Api {
  async function request<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    extraHeaders: Readonly<Record<string, string>> = {},
    read: (response: Response) => Promise<T> = (response) => response.json().catch(() => ({})),
  ): Promise<T | undefined> {
    const headers: Record<string, string> = { ...extraHeaders };
    if (accountId !== undefined) headers['x-gen3d-account'] = accountId;
    if (body !== undefined) headers['content-type'] = 'application/json';
    const response = await fetch(`/dashboard/api${path}`, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch(() => {
      throw new ApiError(0, 'The server cannot be reached. Is it running?');
    });
    if (response.status === 204) return undefined;
    if (response.ok) return read(response);
    if (response.status === 401) onSignedOut();
    throw new ApiError(response.status, errorMessage(response, await response.json().catch(() => ({}))));
  }
  return {
    get: async (path, schema) => parseResponse(schema, await request('GET', path)),
    getFile: (path) => request('GET', path, undefined, {}, (response) => response.blob()),
    send: (method, path, body, headers) => request(method, path, body, headers),
  };
}

function errorMessage({ status, headers }: Response, body: unknown): string {
  const { data } = ErrorBody.safeParse(body);
  if (data) return data.error.message;
  if (status !== 429) return `The server responded with status ${status}`;
  const seconds = headers.get('retry-after') ?? 'a few';
  return `Too many requests, or too many unfinished jobs. Try again in ${seconds} s`;
}
