import type { Balance, JobStatus, ListJobsResponse, Task } from '@gen3d/schema';

export type { Balance, JobStatus, ListJobsResponse, Task };

export interface AccountName {
  account_id: string;
  name: string;
  sandbox: boolean;
}

/** `operator_password`: whether the operator has set one. */
export type Session = { operator_password: boolean } & (
  | { role: null }
  | { role: 'operator'; key_id: null; accounts: AccountName[] }
  | { role: 'member'; key_id: string; accounts: AccountName[] }
);

export interface ApiKey {
  key_id: string;
  /** Null for keys made on the command line without one. */
  name: string | null;
  created_at: string;
  /** To the minute; null before the first use. */
  last_used_at: string | null;
  revoked_at: string | null;
}

export interface LedgerEntry {
  entry_id: string;
  kind: 'credit' | 'charge';
  amount_usd: number;
  task_id: string | null;
  instance: string | null;
  inference_seconds: number | null;
  created_at: string;
}

export interface Day {
  date: string;
  spent_usd: number;
  jobs: number;
}

export interface WebhookEvent {
  event_id: string;
  event: 'task.updated' | 'ping';
  task_id: string | null;
  status: JobStatus | null;
  progress: number | null;
  state: 'waiting' | 'retrying' | 'dead' | 'delivered' | 'dropped';
  attempts: number;
  last_answer: string | null;
  created_at: string;
  next_attempt_at: string | null;
}

/** One attempt at delivering an event. */
export interface WebhookDelivery {
  delivery_id: string;
  started_at: string;
  took_ms: number;
  request: { url: string; headers: Record<string, string>; body: string };
  /** Null when no answer came; `failure` then says why. */
  response: { status: number; body: string } | null;
  failure: string | null;
}

export interface StageTime {
  stage: string;
  ms: number;
}

export interface JobDetails {
  image_url: string | null;
  attempts: number;
  cost_usd: number | null;
  instance: string | null;
  inference_seconds: number | null;
  /** Null until the job has succeeded. */
  stages: StageTime[] | null;
  events: WebhookEvent[];
}

/** A runner process, of any machine. */
export interface Runner {
  runner_id: string;
  host: string;
  version: string;
  instance: string;
  bundle: string;
  device: string;
  /** Name of the graphics adapter, where there is one. */
  adapter: string | null;
  /** What it has in inference. */
  task_id: string | null;
  started_at: string;
  heartbeat_at: string;
}

export interface Overview {
  /** That are open, or were finished within the last 24 hours. */
  jobs: Partial<Record<JobStatus, number>>;
  oldest_open_at: string | null;
  events: { waiting: number; dead: number };
  runners: Runner[];
  rates: Record<string, number>;
  bundle: string;
  matte: string;
  database: string;
  version: string;
  node: string;
  platform: string;
  uptime_seconds: number;
  memory_bytes: number;
}

export interface OperatorAccount extends AccountName {
  balance_usd: number;
  open_jobs: number;
  created_at: string;
}

/** What the server refused, in its words. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Calls the dashboard's side of the server. @throws {ApiError} what it refused; status 0 when it cannot be reached */
export type Call = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** Calls on behalf of an account. `onSignedOut` hears of a session that has ended. */
export function callAs(accountId: string | undefined, onSignedOut: () => void = () => {}): Call {
  return async <T>(method: string, path: string, body?: unknown) => {
    const headers: Record<string, string> = {};
    if (accountId !== undefined) headers['x-gen3d-account'] = accountId;
    if (body !== undefined) headers['content-type'] = 'application/json';
    const response = await fetch(`/dashboard/api${path}`, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch(() => {
      throw new ApiError(0, 'unreachable', 'The server cannot be reached. Is it running?');
    });
    if (response.status === 204) return undefined as T;
    const answer: unknown = await response.json().catch(() => ({}));
    if (response.ok) return answer as T;
    if (response.status === 401) onSignedOut();
    const { error } = answer as { error?: { code?: string; message?: string } };
    const wait = response.headers.get('retry-after') ?? 'a few';
    const refused = `Too many requests, or too many unfinished jobs. Try again in ${wait} s`;
    const message =
      error?.message ?? (response.status === 429 ? refused : undefined) ?? `The server answered ${response.status}`;
    throw new ApiError(response.status, error?.code ?? 'unknown', message);
  };
}
