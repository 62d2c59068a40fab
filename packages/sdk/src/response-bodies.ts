import type { ListJobsResponse, Task } from '@gen3d/schema';
import { ServerError } from './errors.js';

type FieldTypes<T> = { readonly [K in keyof T]?: 'string' | 'number' | 'boolean' | 'object' };

/**
 * Checks only the fields that this client and its callers rely on, because responses of a newer server may have more. The
 * types are those of the schemas; their code, zod, would be most of the browser bundle.
 */
export const having =
  <T>(fields: FieldTypes<T>) =>
  (value: unknown): value is T =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(fields).every(([name, type]) => {
      const field = (value as Record<string, unknown>)[name];
      return typeof field === type && field !== null;
    });

export const isTask = having<Task>({ task_id: 'string', status: 'string' });

const hasJobs = having<ListJobsResponse>({ jobs: 'object' });
export const isJobPage = (value: unknown): value is ListJobsResponse =>
  hasJobs(value) && Array.isArray(value.jobs) && value.jobs.every(isTask);

/** Returns the body if it has the expected type. @throws {ServerError} invalid_response */
export function expectBody<T>(body: unknown, isExpected: (value: unknown) => value is T, name: string): T {
  if (isExpected(body)) return body;
  throw new ServerError(
    'invalid_response',
    `The response does not contain a valid ${name}. Check that it comes from a gen3d server`,
  );
}

/** Iterates over the chunks of a stream. Not all browsers can iterate over a stream directly. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel();
  }
}
