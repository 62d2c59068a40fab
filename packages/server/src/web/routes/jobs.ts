import {
  type CreateJobRequest,
  type CreateJobResponse,
  cleanLabel,
  IdempotencyKey,
  isTerminal,
  ListJobsQuery,
  type ListJobsResponse,
  labelHeader,
  parseCreateJobRequest,
} from '@gen3d/schema';
import {
  estimateHeaders,
  readSampler,
  repeatKeyHeader,
  type SamplerSettings,
  samplerHeader,
} from '@gen3d/schema/rules';
import { type Request, type Response, Router } from 'express';
import { currentTime } from '../../data/db/time.js';
import { createJob, createSandboxJob } from '../../data/jobs/create.js';
import { findTask, listTasks } from '../../data/jobs/job-store.js';
import { toTask } from '../../data/jobs/task.js';
import { pollSeconds } from '../answers/job-estimates.js';
import { HttpError, invalidCursor, noSuch, sendJson, validated } from '../answers/responses.js';
import { callerOf } from '../guards/auth.js';
import { jsonBody } from '../guards/json-body.js';
import type { Services } from './services.js';

/** Reads the label from the value of its header, if it was sent. */
function readLabel(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  try {
    // Other characters arrive in an unknown encoding.
    if (!/^[\x20-\x7e]*$/.test(header)) throw new URIError();
    return cleanLabel(decodeURIComponent(header)) ?? undefined;
  } catch {
    throw new HttpError(400, 'invalid_request', `${labelHeader}: must be percent-encoded UTF-8`);
  }
}

/** Returns the settings in the header, if it was sent. @throws {HttpError} if it is invalid */
export function samplerSettings(header: string | undefined): SamplerSettings | undefined {
  if (header === undefined) return undefined;
  const settings = readSampler(header);
  if (typeof settings === 'string') throw new HttpError(400, 'invalid_request', `${samplerHeader}: ${settings}`);
  return settings;
}

/** Returns the idempotency key of the header, for routes whose body has none. @throws {HttpError} if it is invalid */
export function repeatKey(request: Request): string | undefined {
  return validated(IdempotencyKey.optional().safeParse(request.get(repeatKeyHeader)), repeatKeyHeader);
}

export type JobCreation = Pick<Services, 'db' | 'sandbox' | 'jobStores' | 'onJobCreated'>;

/** Creates a job of the caller, and returns its id. A job of the public test key has succeeded already. */
export async function acceptJob(
  { db, sandbox, jobStores, onJobCreated }: JobCreation,
  response: Response,
  job: CreateJobRequest,
  extras: { label?: string | undefined; sampler?: SamplerSettings | undefined } = {},
): Promise<string> {
  const caller = callerOf(response);
  let jobId: string;
  if (caller.sandbox && sandbox) {
    jobId = await createSandboxJob(db, caller.accountId, job, sandbox.sample, currentTime(db));
  } else {
    const { traceId } = response.locals;
    const accepted = await createJob(jobStores, caller.accountId, job, currentTime(db), { traceId, ...extras });
    if (accepted.created) onJobCreated();
    jobId = accepted.id;
  }
  response.locals.jobId = jobId;
  return jobId;
}

/** Serves `/v1/jobs` (docs/contract.md sections 4.1 to 4.3). */
export function jobRoutes(
  services: JobCreation & Pick<Services, 'cursors' | 'assetsUrl' | 'estimateOf' | 'shares'>,
): Router {
  const { db, cursors, assetsUrl, estimateOf } = services;
  const router = Router();

  router.post('/', jsonBody(services), async (request, response) => {
    const job = validated(parseCreateJobRequest(request.body));
    const label = readLabel(request.get(labelHeader));
    const sampler = samplerSettings(request.get(samplerHeader));
    const jobId = await acceptJob(services, response, job, { label, sampler });
    sendJson(response, 202, { job_id: jobId } satisfies CreateJobResponse);
  });

  router.get('/', async (request, response) => {
    const parsed = ListJobsQuery.safeParse(request.query);
    if (parsed.error?.issues.every(({ path }) => path[0] === 'cursor')) throw invalidCursor();
    const { status, limit, cursor } = validated(parsed, 'query');
    const { accountId } = callerOf(response);
    const before = await cursors.read(accountId, cursor);
    const { tasks, more } = await listTasks(db, accountId, { status, limit, before });
    const last = tasks.at(-1);
    sendJson(response, 200, {
      jobs: tasks.map((task) => toTask(task, assetsUrl())),
      ...(more && last ? { next_cursor: cursors.issue(accountId, last.id) } : {}),
    } satisfies ListJobsResponse);
  });

  router.get('/:id', async (request, response) => {
    const task = await findTask(db, callerOf(response).accountId, request.params.id);
    if (!task) throw noSuch('job');
    if (!isTerminal(task.status)) {
      response.set('retry-after', String(pollSeconds(task.status)));
      response.set(estimateHeaders(await estimateOf(task)));
    }
    sendJson(response, 200, toTask(task, assetsUrl()));
  });

  return router;
}
