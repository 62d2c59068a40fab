import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, uptime } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolder, replaceFile } from '@gen3d/engine/files';
import { UsageError } from '../exit/failure.js';
import { hasCode, systemReason } from '../files/system-errors.js';
import { draftIn, findTarget, requireWritable } from '../files/target.js';
import { variable } from './variable.js';

/** A server for which this machine has an API key, or which runs on it. */
export interface KnownServer {
  /** Absent after `gen3d logout`. */
  readonly apiKey?: string;
  /** The data directory, if the server runs on this machine. Identifies the server even if its port changes. */
  readonly dataDir?: string;
}

/**
 * Holds the API keys that `login` and `serve` store for other commands.
 *
 * Each key belongs to one server, and must never be sent to another.
 */
export interface Profile {
  /** The default server: the one of the latest `serve` or `login`. */
  readonly current?: string | undefined;
  /** The process id of a `serve` that does not listen yet. */
  readonly starting?: number | undefined;
  /** When it announced itself, in milliseconds since 1970. */
  readonly startingSince?: number | undefined;
  readonly servers: Readonly<Record<string, KnownServer>>;
}

export const emptyProfile: Profile = { servers: {} };

/** Returns the platform's folder for configuration, unless GEN3D_CONFIG_DIR sets another one. */
function folder(): string {
  const { platform } = process;
  const chosen = variable('GEN3D_CONFIG_DIR');
  if (chosen !== undefined) return chosen;
  if (platform === 'win32') return join(variable('APPDATA') ?? join(home(), 'AppData', 'Roaming'), 'gen3d', 'Config');
  if (platform === 'darwin') return join(home(), 'Library', 'Preferences', 'gen3d');
  return join(variable('XDG_CONFIG_HOME') ?? join(home(), '.config'), 'gen3d');
}

/** Users of containers, build sandboxes and batch systems may have neither HOME nor an entry in the list of users. */
function home(): string {
  try {
    return homedir();
  } catch (cause) {
    throw new UsageError('This user has no home folder. Set HOME or GEN3D_CONFIG_DIR', { cause });
  }
}

export const profilePath = (): string => join(folder(), 'profile.json');

/** @throws {UsageError} if the file is damaged. Passes on the operating system's error if it cannot be read */
export async function readProfile(): Promise<Profile> {
  const path = profilePath();
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return emptyProfile;
    throw error;
  }
  // Without the byte order mark of some editors.
  const profile = parse(text.trim());
  if (!profile) throw new UsageError(`${path} is damaged. Correct it, or rename it and run \`gen3d login\``);
  return profile;
}

// Checks the file because users may edit it.
function parse(text: string): Profile | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isProfile(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isProfile = (value: unknown): value is Profile =>
  isRecord(value) &&
  (value.current === undefined || (typeof value.current === 'string' && URL.canParse(value.current))) &&
  [value.starting, value.startingSince].every((one) => one === undefined || typeof one === 'number') &&
  isRecord(value.servers) &&
  Object.values(value.servers).every(isKnownServer);

const isKnownServer = (value: unknown): value is KnownServer =>
  isRecord(value) &&
  (value.apiKey === undefined || typeof value.apiKey === 'string') &&
  (value.dataDir === undefined || typeof value.dataDir === 'string');

/**
 * Lets other commands on this machine wait for a server that this process starts. Ends when the server has stored its
 * URL, or with the process.
 */
export async function announceStart(): Promise<void> {
  try {
    await changeProfile((profile) => ({ ...profile, starting: process.pid, startingSince: Date.now() }));
  } catch {
    // `serve` reports a profile that cannot be written.
  }
}

/** A server that has announced itself takes less to start, even on a slow machine. */
export const maxStartMs = 300_000;

/**
 * Whether a server on this machine is starting: its process has announced it, and still runs. After a crash, another
 * program may get the process id, so an announcement counts only for a limited time, and never after a restart of the
 * machine.
 */
export function isServerStarting({ starting, startingSince = 0 }: Profile, machineMs = uptime() * 1_000): boolean {
  // The clock may have been set back.
  const isRecent = Math.abs(Date.now() - startingSince) < Math.min(maxStartMs, machineMs);
  if (starting === undefined || !isRecent) return false;
  try {
    process.kill(starting, 0);
    return true;
  } catch (error) {
    // It belongs to another user.
    return hasCode(error, 'EPERM');
  }
}

/** @throws {UsageError} if the profile cannot be written, before a key is made that could then not be stored */
export async function requireWritableProfile(): Promise<void> {
  const path = profilePath();
  try {
    await makeFolder(folder(), 0o700);
    await requireWritable(path, await findTarget(path), true);
  } catch (cause) {
    throw new UsageError(
      `Cannot write ${path}, because ${cause instanceof UsageError ? 'it is read-only' : systemReason(cause)}. ` +
        'Set GEN3D_CONFIG_DIR to a folder that can be written, or GEN3D_API_KEY instead of logging in',
      { cause },
    );
  }
}

/**
 * Replaces the file atomically. Only its owner can read it, because it contains keys. A lock file keeps other processes
 * from changing it between the read and the write, which would lose their keys.
 */
export async function changeProfile(change: (profile: Profile) => Profile): Promise<void> {
  const path = profilePath();
  await makeFolder(folder(), 0o700);
  const lock = `${path}.lock`;
  await acquire(lock);
  try {
    const text = `${JSON.stringify(change(await readProfile()), undefined, 2)}\n`;
    // Writes where a link points, so that the link stays.
    const target = await findTarget(path);
    const draft = draftIn(dirname(target.path));
    try {
      await writeFile(draft, text, { mode: 0o600 });
      await replaceFile(draft, target.path);
    } finally {
      await rm(draft, { force: true });
    }
  } finally {
    await rm(lock, { force: true });
  }
}

/** A change takes milliseconds. A lock file of this age is from a process that was killed. */
const maxLockMs = 10_000;
const lockPollMs = 25;

async function acquire(lock: string): Promise<void> {
  for (;;) {
    try {
      return await writeFile(lock, '', { flag: 'wx' });
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    const lockedSince = (await stat(lock).catch(() => undefined))?.mtimeMs ?? Date.now();
    if (Math.abs(Date.now() - lockedSince) > maxLockMs) await rm(lock, { force: true });
    else await sleep(lockPollMs);
  }
}

/** Adds a server to the profile and makes it the default. */
export function withServer(profile: Profile, baseUrl: string, server: KnownServer): Profile {
  const others = Object.entries(profile.servers).filter(
    ([url, { dataDir }]) => url !== baseUrl && (dataDir === undefined || dataDir !== server.dataDir),
  );
  return { current: baseUrl, servers: { ...Object.fromEntries(others), [baseUrl]: server } };
}

/** Removes a server's key from the profile. The server stays the default, so that `login` finds it again. */
export function withoutKey({ current, servers }: Profile, baseUrl: string): Profile {
  const { [baseUrl]: server, ...others } = servers;
  const { dataDir } = server ?? {};
  return { current, servers: dataDir === undefined ? others : { ...others, [baseUrl]: { dataDir } } };
}
