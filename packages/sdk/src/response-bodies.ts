import type {
  Balance,
  CreateJobResponse,
  ListJobsResponse,
  PutWebhookEndpointResponse,
  RotateSecretResponse,
  Task,
  TestWebhookResponse,
  WebhookEndpoint,
} from '@gen3d/schema';
import { ServerError } from './errors.js';

// Only what this client and its callers rely on is checked: an answer of a newer server must not be refused for what
// it adds, and zod would be most of the browser bundle.

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isTask = (value: unknown): value is Task =>
  isRecord(value) && typeof value.task_id === 'string' && typeof value.status === 'string';

export const isCreated = (value: unknown): value is CreateJobResponse =>
  isRecord(value) && typeof value.job_id === 'string';

export const isJobPage = (value: unknown): value is ListJobsResponse =>
  isRecord(value) && Array.isArray(value.jobs) && value.jobs.every(isTask);

export const isBalance = (value: unknown): value is Balance =>
  isRecord(value) && typeof value.balance_usd === 'number' && typeof value.min_balance_usd === 'number';

export const isPutEndpoint = (value: unknown): value is PutWebhookEndpointResponse =>
  isRecord(value) && typeof value.url === 'string';

export const isEndpoint = (value: unknown): value is WebhookEndpoint =>
  isPutEndpoint(value) && typeof value.secret === 'string';

export const isSecret = (value: unknown): value is RotateSecretResponse =>
  isRecord(value) && typeof value.secret === 'string';

export const isQueued = (value: unknown): value is TestWebhookResponse => isRecord(value) && value.queued === true;

/** The answer's body, once it is known to be what was asked for. @throws {ServerError} invalid_response */
export function expectBody<T>(body: unknown, is: (value: unknown) => value is T, what: string): T {
  if (is(body)) return body;
  throw new ServerError('invalid_response', `The server's answer is no ${what}: is it a gen3d server?`);
}
