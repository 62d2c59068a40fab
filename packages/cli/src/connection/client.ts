import { AuthenticationError, ConnectionError, defaultBaseUrl, Gen3d } from '@gen3d/sdk';
import { UsageError } from '../exit/failure.js';
import { interruptible } from '../exit/interruption.js';
import { type Profile, readProfile } from './profile.js';

/** The options every command that talks to a server has. */
export interface ServerOptions {
  readonly apiKey?: string;
  readonly baseUrl?: string;
}

/** Which server is meant: the flag, the variable, the profile, this machine. Always without a slash at its end. */
export function chooseServer(options: ServerOptions, profile: Profile): string {
  const url = options.baseUrl ?? (process.env.GEN3D_BASE_URL || undefined) ?? profile.current ?? defaultBaseUrl;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`"${url}" is no server's address: --base-url looks like ${defaultBaseUrl}`);
  }
  return url.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/** The key to use at that server; the profile's only if it was made for that server. */
export const chooseKey = (options: ServerOptions, profile: Profile, baseUrl: string): string | undefined =>
  options.apiKey ?? (process.env.GEN3D_API_KEY || undefined) ?? profile.servers[baseUrl]?.apiKey;

/**
 * Runs a command's work with the client it needs and a signal that Ctrl-C aborts.
 *
 * @throws {AuthenticationError} if there is a server and no key for it
 * @throws {ConnectionError} with advice, if nothing answers
 */
export async function withClient<T>(
  options: ServerOptions,
  work: (client: Gen3d, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const profile = await readProfile();
  const baseUrl = chooseServer(options, profile);
  const apiKey = chooseKey(options, profile, baseUrl);
  if (!apiKey) throw await withoutKey(baseUrl);
  // Few retries: somebody sits at the terminal. `wait` has more patience of its own.
  const client = new Gen3d({ apiKey, baseUrl, maxRetries: 2 });
  try {
    return await interruptible((signal) => work(client, signal));
  } catch (error) {
    const isServer = error instanceof ConnectionError && error.message.includes(new URL(baseUrl).origin);
    throw isServer && error.code !== 'timeout' ? unreachable(baseUrl, error) : error;
  }
}

/** Whether anything answers HTTP there, and what; undefined if nothing does. */
export async function healthOf(baseUrl: string): Promise<number | undefined> {
  try {
    const response = await fetch(`${baseUrl}/healthz`, { signal: AbortSignal.timeout(5000) });
    // Node's fetch can end the process if a connection closes while its response is unread.
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}

// The first thing to know is whether there is a server at all: starting one also makes a key.
async function withoutKey(baseUrl: string): Promise<AuthenticationError | ConnectionError> {
  if ((await healthOf(baseUrl)) === undefined) return unreachable(baseUrl);
  const advice = 'Run `gen3d login`, or give --api-key or GEN3D_API_KEY';
  return new AuthenticationError('forbidden', `There is no API key for ${baseUrl}. ${advice}`);
}

function unreachable(baseUrl: string, cause?: ConnectionError): ConnectionError {
  const { hostname } = new URL(baseUrl);
  const isHere = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  const message = isHere
    ? `cannot reach ${baseUrl}: is the server running? Start it with \`gen3d serve\``
    : `${cause?.message ?? `cannot reach ${baseUrl}`}. Check --base-url or GEN3D_BASE_URL, and the network`;
  return new ConnectionError('connection_failed', message, { cause });
}
