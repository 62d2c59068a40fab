// Responses of the routes below /dashboard/api, which only the dashboard reads, and of /gen3d/jobs (docs/job-list.md),
// which programs read, too. They are not part of the public API.
import * as z from 'zod/mini';
import { JobStatus, NextCursor, Task } from './task.js';
import { maxNameLength } from './text.js';

export { Balance } from './balance.js';
export { ErrorBody } from './errors.js';
export { CreateJobResponse, ListJobsResponse, Task } from './task.js';
export { WebhookEndpoint } from './webhook-endpoint.js';

/** Limits of the forms, in characters. */
export const formLimits = { nameLength: maxNameLength } as const;

/** Groups of statuses. `failed` includes canceled jobs. */
export const jobGroups = ['in_progress', 'done', 'failed'] as const;
export type JobGroup = (typeof jobGroups)[number];

/** A job in the gallery: the task object, and fields that the API does not have. */
export const GalleryJob = z.extend(Task, {
  /** Usually the photo's file name. Null for jobs that were created without one. */
  label: z.nullable(z.string()),
  /** Seconds of inference, on which the charge is based. Null until the job has succeeded. */
  inference_seconds: z.nullable(z.number()),
  /** Seconds of all stages, without waiting. Null until the job has succeeded. */
  work_seconds: z.nullable(z.number()),
  /** 1 is the job whose inference starts next. Null once inference has started, or if the job is far back. */
  queue_position: z.nullable(z.number()),
  /** The current stage of inference; see `stageNames`. Null if no stage is running, or if it is not known. */
  stage: z.nullable(z.string()),
  /** The sides of its photos beside the front; see `viewSides`. Warnings say which were not used. */
  views: z.array(z.string()),
  /** What makes the model worse than it could be: codes of `warningMessages`. */
  warnings: z.array(z.string()),
  can_cancel: z.boolean(),
  /** Whether the server may still have the photo of a finished job. */
  can_retry: z.boolean(),
  /** Path of the model's public page on the server. Null if the model is not shared. */
  share_path: z.nullable(z.string()),
});
export type GalleryJob = z.infer<typeof GalleryJob>;

/** Numbers of jobs that match the search. Each stops at 1,000, which means 1,000 or more. */
export const GalleryCounts = z.object({ in_progress: z.number(), done: z.number(), failed: z.number() });
export type GalleryCounts = z.infer<typeof GalleryCounts>;

/** `counts` is absent for the public test key. */
export const GalleryPage = z.object({
  jobs: z.array(GalleryJob),
  next_cursor: NextCursor,
  counts: z.optional(GalleryCounts),
});
export type GalleryPage = z.infer<typeof GalleryPage>;

const account = { account_id: z.string(), name: z.string(), sandbox: z.boolean() };
export const Account = z.object(account);
export type Account = z.infer<typeof Account>;

/**
 * `accounts`: for the operator, the first 100 and the chosen one. `charges`: whether any rate is above 0. If none is,
 * the dashboard shows no amounts of money.
 */
const signedIn = { charges: z.boolean(), accounts: z.array(Account) };
export const Session = z.discriminatedUnion('role', [
  z.object({ role: z.null() }),
  z.object({ ...signedIn, role: z.literal('operator'), key_id: z.null() }),
  z.object({ ...signedIn, role: z.literal('member'), key_id: z.string() }),
]);
export type Session = z.infer<typeof Session>;

export const ApiKey = z.object({
  key_id: z.string(),
  /** Null for a key that was created on the command line without a name. */
  name: z.nullable(z.string()),
  /** The key's last four characters, by which people recognize it. */
  ending: z.string(),
  created_at: z.string(),
  /** Accurate to the minute; null before the first use. */
  last_used_at: z.nullable(z.string()),
  revoked_at: z.nullable(z.string()),
});
export type ApiKey = z.infer<typeof ApiKey>;
export const KeyList = z.object({ keys: z.array(ApiKey) });
export type KeyList = z.infer<typeof KeyList>;
/** The only response that contains the key itself. */
export const CreatedKey = z.object({ key_id: z.string(), name: z.string(), api_key: z.string() });
export type CreatedKey = z.infer<typeof CreatedKey>;

export const LedgerEntry = z.object({
  entry_id: z.string(),
  kind: z.enum(['credit', 'charge']),
  amount_usd: z.number(),
  task_id: z.nullable(z.string()),
  /** The job's label. Null if the entry is not about a job, or if the job's record has been deleted. */
  label: z.nullable(z.string()),
  instance: z.nullable(z.string()),
  inference_seconds: z.nullable(z.number()),
  created_at: z.string(),
});
export type LedgerEntry = z.infer<typeof LedgerEntry>;
export const LedgerPage = z.object({ entries: z.array(LedgerEntry), next_cursor: NextCursor });
export type LedgerPage = z.infer<typeof LedgerPage>;

/** An event and how far its delivery is. */
export const EventEntry = z.object({
  event_id: z.string(),
  event: z.enum(['task.updated', 'ping']),
  task_id: z.nullable(z.string()),
  status: z.nullable(JobStatus),
  progress: z.nullable(z.number()),
  /** The event awaits its first attempt or a retry, is a dead letter, or was delivered or dropped with its endpoint. */
  state: z.enum(['waiting', 'retrying', 'dead', 'delivered', 'dropped']),
  attempts: z.number(),
  /** Status of the last response, or why there was none. */
  last_result: z.nullable(z.string()),
  created_at: z.string(),
  next_attempt_at: z.nullable(z.string()),
});
export type EventEntry = z.infer<typeof EventEntry>;
/** `configured`: whether the account has an endpoint. `health`: see `EndpointHealth`. */
export const EventList = z.object({
  configured: z.boolean(),
  health: z.object({ failing_since: z.optional(z.string()), paused_until: z.optional(z.string()) }),
  events: z.array(EventEntry),
});
export type EventList = z.infer<typeof EventList>;

/** The last attempt to deliver an event. */
export const Delivery = z.object({
  started_at: z.string(),
  took_ms: z.number(),
  request: z.object({ url: z.string(), headers: z.record(z.string(), z.string()), body: z.string() }),
  /** Null if no response arrived; `failure` then says why. */
  response: z.nullable(z.object({ status: z.number(), body: z.string() })),
  failure: z.nullable(z.string()),
});
export type Delivery = z.infer<typeof Delivery>;
/** Null before the first attempt. */
export const LastDelivery = z.object({ delivery: z.nullable(Delivery) });
export type LastDelivery = z.infer<typeof LastDelivery>;

export const StageTime = z.object({ stage: z.string(), ms: z.number() });
export type StageTime = z.infer<typeof StageTime>;

/** Fields of a job that the task object does not have. */
export const JobDetails = z.object({
  /** URLs of the photos, by side. Empty once the job cannot be tried again. Photos in the request have none. */
  image_urls: z.record(z.string(), z.string()),
  attempts: z.number(),
  cost_usd: z.nullable(z.number()),
  instance: z.nullable(z.string()),
  /** Name of the bundle that made the model; null until the job has succeeded. */
  bundle: z.nullable(z.string()),
  /** Null until the job has succeeded. */
  stages: z.nullable(z.array(StageTime)),
  events: z.array(EventEntry),
});
export type JobDetails = z.infer<typeof JobDetails>;

/** A runner process, on any machine. */
export const Runner = z.object({
  runner_id: z.string(),
  host: z.string(),
  version: z.string(),
  instance: z.string(),
  bundle: z.string(),
  device: z.string(),
  /** The graphics adapter's name; null if there is none. */
  adapter: z.nullable(z.string()),
  /** The job whose inference is running. Null if the runner is idle. */
  task_id: z.nullable(z.string()),
  started_at: z.string(),
  heartbeat_at: z.string(),
});
export type Runner = z.infer<typeof Runner>;

export const Overview = z.object({
  /** Jobs that are open or finished within the last 24 hours. */
  jobs: z.partialRecord(JobStatus, z.number()),
  oldest_open_at: z.nullable(z.string()),
  events: z.object({ waiting: z.number(), dead: z.number() }),
  runners: z.array(Runner),
  version: z.string(),
  /** Free space on the disk with the data directory. */
  free_disk_bytes: z.number(),
});
export type Overview = z.infer<typeof Overview>;

export const OperatorAccount = z.object({
  ...account,
  balance_usd: z.number(),
  open_jobs: z.number(),
  created_at: z.string(),
});
export type OperatorAccount = z.infer<typeof OperatorAccount>;
export const OperatorAccountList = z.object({ accounts: z.array(OperatorAccount), next_cursor: NextCursor });
export type OperatorAccountList = z.infer<typeof OperatorAccountList>;
export const CreatedAccount = z.object({ account_id: z.string(), name: z.string() });
export type CreatedAccount = z.infer<typeof CreatedAccount>;

const BundleKind = z.enum(['reconstruction', 'matte', 'http']);

/** A bundle in one of the folders that the server searches. */
export const InstalledBundle = z.object({
  name: z.string(),
  kind: BundleKind,
  title: z.string(),
  bytes: z.number(),
  /** Terms of the weights. */
  license: z.string(),
  /** Whether this server uses it. */
  in_use: z.boolean(),
});
export type InstalledBundle = z.infer<typeof InstalledBundle>;

export const BundleOverview = z.object({
  /** Pulled bundles go to this machine, and to this folder on it. */
  host: z.string(),
  directory: z.string(),
  installed: z.array(InstalledBundle),
  /** Folders that are not usable bundles, and why. */
  damaged: z.array(z.object({ name: z.string(), problem: z.string() })),
});
export type BundleOverview = z.infer<typeof BundleOverview>;
