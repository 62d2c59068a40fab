import { statfs } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { RequestHandler } from 'express';
import { cached } from '../../base/cached.js';
import { type Db, kindOf } from '../../data/db/database.js';
import { ping } from '../../data/db/open.js';
import { readSchemaState } from '../../data/db/schema.js';
import { currentTime } from '../../data/db/time.js';
import { DatabaseUnavailableError } from '../../data/db/unavailable.js';
import { runnerState } from '../../data/runners/registry.js';
import { sendJson } from '../answers/responses.js';
import type { Services } from './services.js';

/** A slower check counts as failed. */
const timeoutMs = 3_000;

/** Resolves with `otherwise` if the check fails or takes too long. Never rejects. */
function withTimeout<T>(check: Promise<T>, otherwise: T): Promise<T> {
  const timeout = pause(timeoutMs, otherwise, { ref: false });
  return Promise.race([check.catch(() => otherwise), timeout]);
}

/** With less free space, the server refuses most jobs. */
const minFreeBytes = 1024 ** 2;

/** Whether the disk of the data directory is full. A file system that does not say counts as one with space. */
async function isDiskFull(dataDir: string): Promise<boolean> {
  const disk = await statfs(dataDir).catch(() => undefined);
  return disk !== undefined && disk.blocks > 0 && disk.bavail * disk.bsize < minFreeBytes;
}

/**
 * Serves `GET /healthz`: whether this process works and reaches its database. A full disk is named, but does not make
 * the status 503: a restart would not help.
 */
export function health({ config, db, isReady }: Pick<Services, 'config' | 'db' | 'isReady'>): RequestHandler {
  // Anyone may ask, as often as they like.
  const runChecks = cached(() => Promise.all([withTimeout(ping(db), false), isDiskFull(config.dataDir)]));
  return async (_request, response) => {
    const [isReached, isFull] = await runChecks();
    if (!isReached) throw new DatabaseUnavailableError('the ping failed or timed out');
    if (isReady()) sendJson(response, 200, { status: isFull ? 'disk full' : 'ok' });
    else sendJson(response, 503, { status: 'starting' });
  };
}

/**
 * Checks the database. SQLite's file is in the data directory. While that disk is full, the server refuses jobs, and
 * runners cannot renew their entries. A server of another version may have changed the tables since the start.
 */
async function databaseResult(db: Db, dataDir: string): Promise<string> {
  const isFull = !kindOf(db).isShared && (await withTimeout(isDiskFull(dataDir), false));
  if (isFull) return 'the disk is full';
  const state = readSchemaState(db).then(({ relation }) =>
    relation === 'current' ? 'ok' : 'its tables are of another version',
  );
  return withTimeout(state, 'temporarily unavailable');
}

/**
 * Serves `GET /readyz`: 200 if jobs that are sent here will be processed, and otherwise 503 with the problems. Unlike
 * `/healthz`, it checks everything that a job needs. The problems are fixed texts, to reveal no address or credential.
 */
export function readiness({
  config,
  db,
  checkAssets,
  filesHang,
  isReady,
}: Pick<Services, 'config' | 'db' | 'checkAssets' | 'filesHang' | 'isReady'>): RequestHandler {
  const runChecks = cached(async () => {
    const [database, assets, runners] = await Promise.all([
      databaseResult(db, config.dataDir),
      withTimeout(
        checkAssets().then(() => 'ok'),
        'not reachable or not writable',
      ),
      withTimeout(runnerState(db, currentTime(db)), 'unknown'),
    ]);
    return {
      server: isReady() ? 'ok' : 'starting or stopping',
      database,
      assets: filesHang() ? 'a file system does not respond' : assets,
      runners: database === 'ok' ? runners : 'unknown without the database',
    };
  });
  return async (_request, response) => {
    const checks = await runChecks();
    const isAllOk = Object.values(checks).every((result) => result === 'ok');
    response.setHeader('cache-control', 'no-store');
    sendJson(response, isAllOk ? 200 : 503, { status: isAllOk ? 'ready' : 'not ready', checks });
  };
}
