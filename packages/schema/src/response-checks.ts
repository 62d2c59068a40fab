import type { GalleryJob } from './dashboard.js';
import type { ListJobsResponse, Task } from './task.js';

// Checks responses without zod, which would make up most of the browser bundle. The types are those of the schemas.

type Check = 'string' | 'number' | 'boolean' | 'object' | ((value: unknown) => boolean);

const passes = (check: Check, value: unknown) =>
  typeof check === 'function' ? check(value) : typeof value === check && value !== null;

/** Also accepts a field that is absent or null. */
const optional = (check: Check) => (value: unknown) => value == null || passes(check, value);

/**
 * Makes a check of an object's fields: only those that clients rely on, because a newer server may send more.
 *
 * @example
 * const isSecret = having<RotateSecretResponse>({ secret: 'string' });
 */
export const having =
  <T>(fields: { readonly [K in keyof T]?: Check }) =>
  (value: unknown): value is T =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries<Check | undefined>(fields).every(([name, check]) =>
      passes(check!, (value as Record<string, unknown>)[name]),
    );

/** Accepts a task of any service with this API, with or without the label and the warnings that gen3d's server adds. */
export const isTask: (value: unknown) => value is Task = having<Task & Partial<GalleryJob>>({
  task_id: 'string',
  status: 'string',
  created_at: optional('string'),
  finished_at: optional('string'),
  model_urls: optional(having({ glb: optional('string') })),
  thumbnail_url: optional('string'),
  error: optional(having({ code: optional('string'), message: optional('string') })),
  label: optional('string'),
  warnings: optional(Array.isArray),
});

export const isJobPage = having<ListJobsResponse>({ jobs: (jobs) => Array.isArray(jobs) && jobs.every(isTask) });
