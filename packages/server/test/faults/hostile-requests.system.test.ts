// Every request gets a response that the contract lists. GEN3D_TEST_SEED=NUMBER generates other requests.
import {
  Balance,
  CreateJobResponse,
  ErrorBody,
  ErrorCode,
  forbiddenBody,
  InsufficientBalanceBody,
  ListJobsResponse,
  PutWebhookEndpointResponse,
  publicTestKey,
  RotateSecretResponse,
  Task,
  TestWebhookResponse,
  WebhookEndpoint,
} from '@gen3d/schema';
import fc from 'fast-check';
import { Pool } from 'undici';
import { expect, inject, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config.js';
import { adminOf, newInstallation } from '../kit.js';
import { type GeneratedRequest, generatedRequest, known } from './generated-requests.js';
import { firstApiKey, running, spawnServer } from './server-process.js';

const seed = inject('seed');
const total = inject('soak') ? 20_000 : 3_000;
/** Concurrent requests. */
const concurrentRequests = 20;

const standardError = z.strictObject({ error: z.strictObject({ code: ErrorCode, message: z.string().min(1) }) });
/** Every response body of the contract, by status. */
const shapes: Record<number, z.ZodType> = {
  200: z.union(
    [Task, ListJobsResponse, Balance, WebhookEndpoint, PutWebhookEndpointResponse, RotateSecretResponse].map((shape) =>
      z.strictObject(shape.shape),
    ),
  ),
  202: z.union([CreateJobResponse, TestWebhookResponse].map((shape) => z.strictObject(shape.shape))),
  400: standardError,
  402: z.strictObject(InsufficientBalanceBody.shape),
  403: z.strictObject({ message: z.literal(forbiddenBody.message) }),
  404: standardError,
  405: standardError,
  409: standardError,
};

interface Response {
  status: number;
  contentType: string;
  text: string;
}

/** Says how a response breaks the contract. */
function problemWith(method: string, { status, contentType, text }: Response): string | undefined {
  const summary = `${status} ${contentType} ${text.slice(0, 300)}`;
  if (status === 204 || method === 'HEAD') return text === '' && status < 500 ? undefined : `a body in ${summary}`;
  const shape = shapes[status];
  if (!shape) return `not a status of the contract: ${summary}`;
  if (!contentType.startsWith('application/json')) return `not JSON: ${summary}`;
  const parsed = shape.safeParse(JSON.parse(text));
  return parsed.success ? undefined : `not a shape of the contract: ${summary}: ${z.prettifyError(parsed.error)}`;
}

test(`${total} generated requests get only responses of the contract`, { timeout: 240_000 }, async () => {
  const installation = await newInstallation();
  const server = await running(spawnServer({ ...installation, workers: 0, bootstrapBalanceUsd: 1_000 }));
  const url = await server.ready;
  const admin = await adminOf({ config: loadConfig({}, {}, { ...installation }) });
  const { account_id } = await admin.createAccount('poor', 0.99);
  const { api_key: poorKey } = await admin.createKey(account_id);
  const keys = { rich: firstApiKey, poor: poorKey, test: publicTestKey, wrong: `${firstApiKey}x`, none: undefined };

  const pool = new Pool(url, { connections: concurrentRequests });
  onTestFinished(() => pool.close());
  const jobs: string[] = ['01ARZ3NDEKTSV4RRFFQ69G5FAV'];
  let cursor = 'none-yet';
  const statuses = new Map<number, number>();
  let sent = 0;

  const send = async ({ method, path, caller, headers, body }: GeneratedRequest): Promise<string | undefined> => {
    const key = keys[caller];
    const job = jobs[sent % jobs.length]!;
    sent++;
    const response = await pool.request({
      method: method as 'GET', // undici sends any token, though its type lists few
      path: path.replaceAll(known.job, job).replaceAll(known.cursor, cursor),
      headers: { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.body.text();
    const status = response.statusCode;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const problem = problemWith(method, { status, contentType: String(response.headers['content-type'] ?? ''), text });
    if (problem) return problem;
    if (caller === 'rich' && status === 202 && text.includes('job_id')) jobs.push(JSON.parse(text).job_id);
    if (caller === 'rich' && status === 200 && text.includes('next_cursor')) cursor = JSON.parse(text).next_cursor;
    return undefined;
  };

  const started = performance.now();
  await fc.assert(
    fc.asyncProperty(
      fc.array(generatedRequest, { minLength: concurrentRequests, maxLength: concurrentRequests }),
      async (requests) => {
        const problems = await Promise.all(requests.map(send));
        const first = problems.findIndex((problem) => problem !== undefined);
        if (first >= 0) {
          const { body, ...rest } = requests[first]!;
          throw new Error(`${problems[first]}\n${JSON.stringify(rest)}\n${body?.toString().slice(0, 1_000)}`);
        }
      },
    ),
    // Shrinking would not help: each request is small, and its response may depend on earlier requests.
    { seed, numRuns: total / concurrentRequests, endOnFailure: true },
  );
  const seconds = Math.round((performance.now() - started) / 1_000);
  const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  console.log(`hostile requests: GEN3D_TEST_SEED=${seed}; ${sent} requests in ${seconds} s (${counts.join(', ')})`);
  expect(sent).toBe(total);
  expect(ErrorBody.safeParse((await server.call('GET', '/v1/jobs/none')).body).success).toBe(true);
  expect((await server.call('GET', '/healthz', undefined, null)).status).toBe(200);
  expect(server.errors).toEqual([]);
});
