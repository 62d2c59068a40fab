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

// Checks only the fields that this client and its callers rely on, because responses of a newer server may have more. zod
// would be most of the browser bundle.

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isTask = (value: unknown): value is Task =>
  isRecord(value) && typeof value.task_id === 'string' && typeof value.status === 'string';

export const isCreatedJob = (value: unknown): value is CreateJobResponse =>
  isRecord(value) && typeof value.job_id === 'string';

export const isJobPage = (value: unknown): value is ListJobsResponse =>
  isRecord(value) && Array.isArray(value.jobs) && value.jobs.every(isTask);

export const isBalance = (value: unknown): value is Balance =>
  isRecord(value) && typeof value.balance_usd === 'number' && typeof value.min_balance_usd === 'number';

export const isUpdatedEndpoint = (value: unknown): value is PutWebhookEndpointResponse =>
  isRecord(value) && typeof value.url === 'string';

export const isEndpoint = (value: unknown): value is WebhookEndpoint =>
  isUpdatedEndpoint(value) && typeof value.secret === 'string';

export const isNewSecret = (value: unknown): value is RotateSecretResponse =>
  isRecord(value) && typeof value.secret === 'string';

export const isQueuedTest = (value: unknown): value is TestWebhookResponse => isRecord(value) && value.queued === true;

/** The body, if it has the expected type. @throws {ServerError} invalid_response */
export function expectBody<T>(body: unknown, isExpected: (value: unknown) => value is T, name: string): T {
  if (isExpected(body)) return body;
  throw new ServerError(
    'invalid_response',
    `The response does not contain a valid ${name}. Check that it comes from a gen3d server`,
  );
}
