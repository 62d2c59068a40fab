import { setTimeout as sleep } from 'node:timers/promises';
import { AuthenticationError, ConnectionError, defaultBaseUrl, Gen3d, Gen3dError, type Retry } from '@gen3d/sdk';
import { errorMessage, failureOf, UsageError } from '../exit/failure.js';
import { interruptible } from '../exit/interruption.js';
import { duration } from '../terminal/format.js';
import { say } from '../terminal/terminal.js';
import { isServerStarting, maxStartMs, type Profile, readProfile } from './profile.js';
import { variable } from './variable.js';

/** Every command that uses a server has these options. */
export interface ServerOptions {
  readonly apiKey?: string;
  readonly baseUrl?: string;
}

/**
 * Chooses the server: from the flag, the variable, the profile or the default. The URL does not end in `/` or `/v1`.
 */
export function chooseServer(options: ServerOptions, { current }: Pick<Profile, 'current'>): string {
  const url = options.baseUrl ?? variable('GEN3D_BASE_URL') ?? current ?? defaultBaseUrl;
  try {
    return new Gen3d({ apiKey: 'none', baseUrl: url }).baseUrl;
  } catch (cause) {
    throw new UsageError(`${errorMessage(cause)} (--base-url or GEN3D_BASE_URL)`, { cause });
  }
}

/** Chooses the API key for the server. Never uses a profile's key for another server. */
export const chooseKey = (options: ServerOptions, profile: Profile, baseUrl: string): string | undefined =>
  options.apiKey ?? variable('GEN3D_API_KEY') ?? profile.servers[baseUrl]?.apiKey;

/**
 * Runs a command with a client, and with a signal that Ctrl-C aborts.
 *
 * @param startMs how long to wait until a `serve` that was started at the same moment announces itself. If a server has
 *   already done so, the command always waits for it
 * @throws {AuthenticationError} without an API key for the server
 * @throws {ConnectionError} if the server cannot be reached, with a hint
 */
export async function withClient<T>(
  options: ServerOptions,
  work: (client: Gen3d, signal: AbortSignal, apiKey: string) => Promise<T>,
  startMs = 0,
): Promise<T> {
  return interruptible(async (signal) => {
    const profile = await profileOfRunningServer(options, startMs, signal);
    const baseUrl = chooseServer(options, profile);
    const apiKey = chooseKey(options, profile, baseUrl);
    if (!apiKey) throw await missingKeyError(baseUrl);
    const client = new Gen3d({ apiKey, baseUrl, onRetry: retryReport() });
    try {
      return await work(client, signal, apiKey);
    } catch (error) {
      // The hint would be wrong for downloads from another host, and for a connection that broke during a response.
      const start = `Cannot reach ${new URL(baseUrl).origin}:`;
      throw error instanceof ConnectionError && error.message.startsWith(start)
        ? unreachableError(baseUrl, error)
        : error;
    }
  });
}

/** How long commands that create jobs wait for an announcement, because scripts start them together with `serve`. */
export const simultaneousStartMs = 5_000;
const startPollMs = 500;

/**
 * Reads the profile. If a server on this machine is starting, waits until it listens and has stored its key.
 *
 * @throws {ConnectionError} if no server runs at a local address, and none has announced itself within `startMs`
 */
async function profileOfRunningServer(options: ServerOptions, startMs: number, signal: AbortSignal): Promise<Profile> {
  const startedAt = Date.now();
  for (let hasSaid = false; ; await sleep(startPollMs)) {
    signal.throwIfAborted();
    const profile = await readProfile();
    const baseUrl = chooseServer(options, profile);
    if (!isLocal(baseUrl)) return profile;
    const isStarting = isServerStarting(profile);
    const hasKey = chooseKey(options, profile, baseUrl) !== undefined;
    // Without a key, a server that is starting has nothing to say, and would log every request.
    const requestedAt = Date.now();
    const health = isStarting && !hasKey ? undefined : await healthOf(baseUrl, signal);
    if (typeof health === 'number' && (!isStarting || (hasKey && health === 200))) return profile;
    if (!isStarting && Date.now() - startedAt >= startMs) {
      // A quick failure means that no server runs. After a timeout, it may only be busy, and requests are retried.
      if (Date.now() - requestedAt >= healthTimeoutMs) return profile;
      if (hasSaid) throw failedStart();
      throw unreachableError(baseUrl, health instanceof Gen3dError ? health : undefined);
    }
    if (isStarting && !hasSaid) {
      const server = `A gen3d server is starting on this machine (process ${profile.starting})`;
      say(`${server}. Waiting up to ${maxStartMs / 60_000} minutes until it listens. Ctrl-C ends the wait`);
    }
    hasSaid ||= isStarting;
  }
}

/** How long the same failure of further requests is not repeated on the screen. */
const sameFailureMs = 20_000;

/** Returns a function that says why a command waits: what the server said, and when the next try is. */
function retryReport(): (retry: Retry) => void {
  let said = { failure: '', time: 0 };
  return ({ error, pauseMs }) => {
    const failure = failureOf(error).message;
    if (failure === said.failure && Date.now() - said.time < sameFailureMs) return;
    said = { failure, time: Date.now() };
    say(`${failure}. Trying again in ${duration(pauseMs)}`);
  };
}

const healthTimeoutMs = 5_000;

/** Requests the server's health check. Returns the status of the response, or the error if there was none. */
export async function healthOf(baseUrl: string, signal?: AbortSignal): Promise<number | Gen3dError> {
  // The SDK's client explains failures, but requires a key, which a health check must not send.
  const withoutKey: typeof fetch = (url, init) => fetch(url, { ...init, headers: {} });
  const client = new Gen3d({ apiKey: 'none', baseUrl, fetch: withoutKey, maxRetries: 0, timeoutMs: healthTimeoutMs });
  try {
    await client.request('get', '/healthz', { signal });
    return 200;
  } catch (error) {
    if (!(error instanceof Gen3dError)) throw error;
    return error.status ?? error;
  }
}

/** @throws {ConnectionError} without an HTTP response from the server */
export async function requireReachable(baseUrl: string): Promise<void> {
  const health = await healthOf(baseUrl);
  if (typeof health !== 'number') throw unreachableError(baseUrl, health);
}

/** Reports an unreachable server first, because starting a server also creates a key. */
async function missingKeyError(baseUrl: string): Promise<AuthenticationError> {
  await requireReachable(baseUrl);
  const hint = `\`gen3d login\` asks for one; \`gen3d login --new-key\` creates a new one on the machine that runs the server`;
  return new AuthenticationError('forbidden', `No API key for ${baseUrl}. ${hint}. Or set --api-key or GEN3D_API_KEY`);
}

function isLocal(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

function failedStart(): ConnectionError {
  const message =
    'The gen3d server that was starting on this machine has ended or does not respond. Check its output for the reason';
  return new ConnectionError('connection_failed', message);
}

function unreachableError(baseUrl: string, cause?: Gen3dError): Gen3dError {
  // The SDK's message already says what went wrong, such as TLS on one side only, or a late response.
  if (cause && !cause.message.startsWith('Cannot reach ')) return cause;
  const message = isLocal(baseUrl)
    ? `Cannot reach ${baseUrl}. If the server is not running, start it with \`gen3d serve\`. If it has another address, set --base-url or GEN3D_BASE_URL`
    : `${cause?.message ?? `Cannot reach ${baseUrl}`}. Check --base-url or GEN3D_BASE_URL, and the network${proxyHint(baseUrl)}`;
  return new ConnectionError('connection_failed', message, { cause });
}

/** Says when requests use the proxy that a variable names. Empty if no variable is set. */
function proxyHint(baseUrl: string): string {
  const name = baseUrl.startsWith('https:') ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const isSet = [name, name.toLowerCase()].some((either) => variable(either));
  return isSet ? `. Requests use the proxy in ${name} only with NODE_USE_ENV_PROXY=1. See docs/cli.md` : '';
}
