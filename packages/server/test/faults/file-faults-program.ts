// The program of file-faults.system.test.ts, which is built and runs with file-faults.c preloaded. For each fault that it
// reads from its arguments, it makes a job, finishes it, and deletes it and an account in a new installation. The client
// and the service repeat what has failed, as they do in production. Prints a line for each broken promise.
import './fake-clock.js';
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import pino from 'pino';
import { guardedAgent } from '../../src/base/net/guarded-agent.js';
import { dayMs } from '../../src/base/time.js';
import { createAccount, deleteAccount } from '../../src/data/accounts/accounts.js';
import { FolderAssetStore } from '../../src/data/assets/folder-store.js';
import type { Db } from '../../src/data/db/database.js';
import { GroupCommit } from '../../src/data/db/group-commit.js';
import { migrate } from '../../src/data/db/open.js';
import { FolderInputStore } from '../../src/data/inputs/folder-store.js';
import { packPixels } from '../../src/data/inputs/stored-image.js';
import { claimForPreparation } from '../../src/data/jobs/claim.js';
import { createJob } from '../../src/data/jobs/create.js';
import {
  deleteJob,
  eraseDeletedAccounts,
  finishDeletion,
  finishDeletions,
  isGone,
} from '../../src/data/jobs/deletion.js';
import { outcomeOfJob } from '../../src/data/jobs/job-store.js';
import { finishPreparation, reap } from '../../src/data/jobs/lifecycle.js';
import { needsInput } from '../../src/data/jobs/retry.js';
import { Runner } from '../../src/work/runner/runner.js';
import type { ModelMaker } from '../../src/work/runner/runner-protocol.js';
import { Worker } from '../../src/work/worker.js';
import { asDataUri, ballPhoto, ballPixels } from '../ball-photo.js';
import { openDatabase } from '../open-database.js';
import { clock } from './fake-clock.js';

/** As in file-faults.c. `fail`: the change fails once. `crash`: so does it, and the process is killed after its step. */
const modes = { none: 0, fail: 1, crash: 1, stop: 2, tear: 3, delay: 4, twice: 5 } as const;
/** `clock`: from its n-th reading on, the clock has jumped by five days, forward or back, until the next start. */
export type Mode = keyof typeof modes | 'forward' | 'back';
export type Kind = 'migration' | 'job';

const [folder = '', controlFile = '', plan = ''] = process.argv.slice(2);
const runs = JSON.parse(plan) as { kind: Kind; mode: Mode; nth: number }[];
const dataDir = join(folder, 'data');

const control = openSync(controlFile, 'r+');
function setFault(mode: number, nth: number, stopped = 0): void {
  writeSync(control, new Uint8Array(Int32Array.of(mode, nth, 0, stopped).buffer), 0, 16, 0);
}
function changes(): number {
  const state = new Int32Array(4);
  readSync(control, new Uint8Array(state.buffer), 0, 16, 0);
  return state[2]!;
}

const glb = Buffer.alloc(4_096, 'glTF');
const jpeg = Buffer.alloc(512, 'jpeg');
const engine: ModelMaker = {
  generate: async () => ({
    glb,
    thumbnail: jpeg,
    transparentThumbnail: jpeg,
    engineMs: 1,
    deviceMs: 1,
    stats: { bundle: 'inflate', warnings: [], outlineOverlap: undefined, stageMs: { matte: 100 } },
  }),
  ended: new Promise(() => {}),
  pid: process.pid,
  kill() {},
};
const dispatcher = guardedAgent({ allowPrivateNetwork: true, connectTimeoutMs: 10_000 });
const photo = ballPhoto(16);
const request = {
  type: 'image-to-3d' as const,
  input: { image_urls: [asDataUri(photo)] },
  idempotency_key: 'once',
};

interface Open {
  db: Db;
  inputs: FolderInputStore;
  assets: FolderAssetStore;
}

const open = (): Open => ({
  db: openDatabase(join(dataDir, 'gen3d.sqlite')),
  inputs: new FolderInputStore(join(dataDir, 'inputs')),
  assets: new FolderAssetStore(join(dataDir, 'assets')),
});

/** Works on one job, as a worker does, until it has ended or something that it does not expect has failed. */
async function infer({ db, inputs, assets }: Open): Promise<void> {
  const next = db.selectFrom('jobs').select('id').where('finished_at', 'is', null).where('prepared', '=', 1);
  if (!(await next.executeTakeFirst())) return;
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const log = pino({}, { write: (line: string) => void (JSON.parse(line).level >= 50 && end()) });
  const runner = new Runner(engine);
  runner.becomeReady({ provider: 'cpu', slots: 1 }, 'cpu');
  let isFree = true;
  const worker = new Worker({
    config: { preparations: 0, leaseSeconds: 30, rates: { cpu: 0.002 }, resolution: 32, textureSize: 256 },
    db,
    commits: new GroupCommit(db),
    inputs,
    assets,
    dispatcher,
    children: {
      start: async () => ({ provider: 'cpu', slots: 1 }),
      decode: () => Promise.reject(new Error('nothing is prepared here')),
      nextRunner: () => {
        if (!isFree && runner.idle) end();
        return isFree && runner.free > 0 ? runner : undefined;
      },
      stop: async () => {},
    },
    observer: {
      claimed: () => {
        isFree = false;
      },
      waited() {},
      succeeded() {},
      failed() {},
    },
    onEvent: () => {},
    onPrepared: () => {},
    log,
  });
  // It waits for a job that it cannot claim.
  const timer = setTimeout(end, 3_000);
  await worker.start();
  await ended;
  clearTimeout(timer);
  await worker.drain(60_000);
}

async function prepare({ db, inputs }: Open): Promise<void> {
  const job = await claimForPreparation(db, { runner: 'machine', now: Date.now(), leaseMs: 30_000, maxPrepared: 8 });
  if (!job) return;
  await inputs.replace(job.id, 'front', packPixels(ballPixels(16)));
  await finishPreparation(db, job.lease, 1, Date.now());
}

/** What a server does at its start and later, when every file that it finds is old enough to be swept. */
async function housekeep({ db, inputs, assets }: Open): Promise<void> {
  await reap(db, Date.now());
  await eraseDeletedAccounts(db, Date.now());
  await finishDeletions(db, { inputs, assets });
  await inputs.sweep(Number.POSITIVE_INFINITY, (id) => needsInput(db, id, 0));
  await assets.sweep(Number.POSITIVE_INFINITY, (id) => outcomeOfJob(db, id));
}

const filesOf = (name: string) =>
  readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((path) => path.includes(name));

class Broken extends Error {}
function promise(isKept: boolean, what: string): void {
  if (!isKept) throw new Broken(what);
}

/** The steps of a job's life. Each may be repeated, and returns whether it is done. */
function stepsOf(kind: Kind, account: string, leaver: string) {
  let id = '';
  const row = (db: Db) => db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst();
  const create = async ({ db, inputs }: Open) => {
    const stores = {
      db,
      inputs,
      commits: new GroupCommit(db),
      maxOpenJobs: 100,
      maxJobsPerDay: 100,
      keepPhotosDays: 0,
      estimate: async () => 0,
      withoutModel: async () => 0,
    };
    const accepted = await createJob(stores, account, request, Date.now());
    promise(id === '' || id === accepted.id, 'a repeated request made another job');
    id = accepted.id;
    return true;
  };
  const work = async (all: Open) => {
    await prepare(all);
    await infer(all);
    return (await row(all.db))?.finished_at !== null;
  };
  const check = async (all: Open) => {
    const { db, assets } = all;
    await housekeep(all);
    // The folders of the job and of its attempt, the model and two thumbnails.
    promise(filesOf(id).length === 5, `files of the finished job: ${filesOf(id)}`);
    const job = await row(db);
    promise(job?.status === 'SUCCEEDED', `the job is ${job?.status} ${job?.error_code}`);
    const contentOf = (key: string) => readFileSync(join(assets.folder, key));
    promise(glb.equals(contentOf(job!.model_key!)), 'the model is lost or incomplete');
    promise(jpeg.equals(contentOf(job!.thumbnail_key!)), 'the thumbnail is lost or incomplete');
    return true;
  };
  const erase = async ({ db, inputs, assets }: Open) => {
    promise((await deleteJob(db, id, Date.now(), account)) === 'deleted', 'the job cannot be deleted');
    await finishDeletion(db, { inputs, assets }, id);
    return true;
  };
  const leave = async ({ db }: Open) => {
    await db.transaction().execute((trx) => deleteAccount(trx, leaver, Date.now()));
    return true;
  };
  const last = async (all: Open) => {
    const { db } = all;
    await housekeep(all);
    const charges = await db.selectFrom('ledger').select('amount_microusd').where('job_id', '=', id).execute();
    promise(charges.length === 1, `${charges.length} charges`);
    promise((await row(db)) === undefined && (await isGone(db, id)), 'a deleted job is back');
    promise(filesOf(id).length === 0, `files of the deleted job: ${filesOf(id)}`);
    const left = await db.selectFrom('jobs').select('id').where('account_id', '=', leaver).execute();
    promise(left.length === 0, 'a job of the deleted account is left');
    promise(filesOf('leaver').length === 0, `files of the deleted account: ${filesOf('leaver')}`);
    const hidden = filesOf('').filter((path) => /(^|\/)\.[^/]+\.[^/]+$/.test(path));
    promise(hidden.length === 0, `drafts or markers: ${hidden}`);
    const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(db);
    promise(rows[0]?.integrity_check === 'ok', 'the database is damaged');
    return true;
  };
  // Names are unique, so a repetition finds the account if its commit survived the fault.
  const nameFirst = async ({ db }: Open) => {
    const found = await db.selectFrom('accounts').select('id').where('name', '=', 'first').executeTakeFirst();
    return found !== undefined || (await createAccountIn(db, 'first')) !== '';
  };
  const start = async ({ db }: Open) => {
    await migrate(db);
    return true;
  };
  return kind === 'migration' ? [start, nameFirst] : [create, work, check, erase, leave, last];
}

const createAccountIn = async (db: Db, name: string) =>
  (await db.transaction().execute((trx) => createAccount(trx, { name, balance: 1e7 }, Date.now()))).id;

/** Runs all steps with one fault, and returns the number of changes until it, or in all. */
async function run(kind: Kind, mode: Mode, nth: number, accounts: readonly [string, string]): Promise<number> {
  rmSync(dataDir, { recursive: true, force: true });
  if (kind === 'job') cpSync(join(folder, 'template'), dataDir, { recursive: true });
  else mkdirSync(dataDir);
  const isClock = mode === 'forward' || mode === 'back';
  setFault(isClock ? 0 : modes[mode], nth);
  const jumpMs = (mode === 'back' ? -5 : 5) * dayMs;
  Object.assign(clock, { waitedMs: 0, nth: isClock ? nth : Number.POSITIVE_INFINITY, jumpMs, reads: 0 });
  let all: Open | undefined;
  let count = 0;
  const hasStruck = () => (isClock ? clock.reads : changes()) >= nth;
  for (const step of stepsOf(kind, ...accounts)) {
    for (let tries = 1; ; tries++) {
      const failed = await (async () => {
        all ??= open();
        return (await step(all)) ? undefined : new Error('not done');
      })().catch((error: unknown) => error);
      if (failed instanceof Broken) throw failed;
      if (count === 0 && hasStruck()) {
        count = isClock ? clock.reads : changes();
        if (mode !== 'fail' && mode !== 'delay') {
          // The end of the process: nothing that it still does reaches the disk.
          setFault(0, 0, 1);
          await all?.db.destroy().catch(() => {});
          all = undefined;
          clock.nth = Number.POSITIVE_INFINITY;
        }
        setFault(0, 0);
        // Longer than a lease, and than the pause before another attempt.
        clock.waitedMs += 60_000;
        all ??= open();
        if (kind === 'job') await housekeep(all);
        if (failed) continue;
      } else if (failed && tries < 4) {
        clock.waitedMs += 60_000;
        continue;
      }
      if (failed) throw failed;
      break;
    }
  }
  const total = count || (isClock ? clock.reads : changes());
  await all?.db.destroy();
  return total;
}

/** An installation with two accounts, of which one has a job with a model. */
async function makeTemplate(): Promise<readonly [string, string]> {
  mkdirSync(dataDir);
  for (const name of ['inputs', 'assets']) mkdirSync(join(dataDir, name));
  const all = open();
  await migrate(all.db);
  const accounts = [await createAccountIn(all.db, 'stayer'), await createAccountIn(all.db, 'leaver')] as const;
  const keys = await all.assets.put('leaver', glb, jpeg);
  await all.assets.keep(keys);
  const job = { id: 'leaver', account_id: accounts[1], type: 'image-to-3d', created_at: 0, turn: 0 };
  const end = { status: 'SUCCEEDED' as const, progress: 100, finished_at: 1, ...keysOf(keys) };
  await all.db
    .insertInto('jobs')
    .values({ ...job, ...end } as never)
    .execute();
  await all.db.destroy();
  cpSync(dataDir, join(folder, 'template'), { recursive: true });
  return accounts;
}
const keysOf = ({ modelKey, thumbnailKey }: { modelKey: string; thumbnailKey: string }) => ({
  model_key: modelKey,
  thumbnail_key: thumbnailKey,
});

setFault(0, 0);
const accounts = await makeTemplate();
const report: string[] = [];
for (const { kind, mode, nth } of runs) {
  const result = await run(kind, mode, nth, accounts).catch((error: unknown) => String(error));
  report.push(JSON.stringify({ kind, mode, nth, result }));
}
closeSync(control);
writeFileSync(join(folder, 'report'), report.join('\n'));
