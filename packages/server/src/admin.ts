import { Name } from '@gen3d/schema';
import type { Transaction } from 'kysely';
import { AdminError } from './base/errors.js';
import { maxUsd, toMicroUsd, toUsd } from './base/money.js';
import { isoTime } from './base/time.js';
import type { Config } from './config.js';
import {
  creditAccount,
  deleteAccount,
  findAccount,
  listAccounts,
  openAccount,
  renameAccount,
} from './data/accounts/accounts.js';
import { listKeys, revokeKey } from './data/accounts/api-keys.js';
import { DashboardTokens, signInPath } from './data/accounts/dashboard-tokens.js';
import { identifyAccount, identifyJob, identifyKey } from './data/accounts/identify.js';
import { QuotaError } from './data/accounts/quotas.js';
import { isFree } from './data/accounts/rates.js';
import { kindOf, type Queryable } from './data/db/database.js';
import type { Tables } from './data/db/tables.js';
import { currentTime } from './data/db/time.js';
import { transaction } from './data/db/transaction.js';
import { openStore, type Store, type StoreEdges } from './data/installation/open-stores.js';
import { deleteJob } from './data/jobs/deletion.js';
import { cancel } from './data/jobs/lifecycle.js';
import { Deletion, listDeletions, repeatDeletions } from './data/jobs/repeat-deletions.js';
import { listDeadLetters, replayDeadLetters } from './data/webhooks/dead-letters.js';
import { Endpoints, SecretBox } from './data/webhooks/endpoints.js';

// Implements `gen3d admin`. Its functions change the database directly, and a running server sees the changes at once.
// Wherever they take an id, they also accept a unique prefix of it, and the name of an account.

export type Admin = Awaited<ReturnType<typeof openAdmin>>;

function deadLetter(row: Awaited<ReturnType<typeof listDeadLetters>>[number]) {
  const { event_id, account_id, event, attempts, failure, created_at } = row;
  return {
    event_id,
    account_id,
    event,
    task_id: row.job_id,
    attempts,
    last_failure: failure,
    created_at: isoTime(created_at),
    dead_at: isoTime(row.ended_at ?? created_at),
  };
}

async function requireAccount(db: Queryable, account: string): Promise<{ id: string; name: string }> {
  const id = await identifyAccount(db, account);
  const found = await findAccount(db, id);
  if (!found) throw deleted(id);
  return found;
}

const deleted = (id: string) => new AdminError(`Account ${id} was deleted in the meantime`);

function requireName(name: string): string {
  const { data, error } = Name.safeParse(name);
  if (data === undefined) throw new AdminError(`The name ${error?.issues[0]?.message}`);
  return data;
}

function requireAmount(usd: number): number {
  if (!Number.isFinite(usd) || Math.abs(usd) > maxUsd) throw new AdminError(`${usd} is not an amount in USD`);
  return toMicroUsd(usd);
}

/** The store and the settings, which the functions of an `Admin` share. */
interface Opened extends Store {
  config: Config;
}

/** Accounts and their money. */
const accountFunctions = ({ db, config }: Opened) => ({
  /** The balance defaults to 0, or to an amount that permits jobs where they cost nothing. */
  async createAccount(name: string, balanceUsd?: number) {
    if (balanceUsd !== undefined) requireAmount(balanceUsd);
    return openAccount(db, config, { name: requireName(name), balance_usd: balanceUsd });
  },

  /** Resolves to whether models cost nothing. Output then leaves amounts out. */
  isFree: () => isFree(db, config),

  async listAccounts() {
    // The account of the public test key cannot be administered.
    const accounts = (await listAccounts(db)).filter(({ sandbox }) => sandbox === 0);
    return accounts.map(({ id, name, balance_microusd }) => ({
      account_id: id,
      name,
      balance_usd: toUsd(balance_microusd),
    }));
  },

  async renameAccount(accountId: string, wantedName: string) {
    const id = await identifyAccount(db, accountId);
    const name = requireName(wantedName);
    const renamed = await transaction(db, (trx) => renameAccount(trx, id, name));
    if (!renamed) throw deleted(id);
    return { account_id: id, name, balance_usd: toUsd(renamed.balance) };
  },

  /** Adds money; a negative amount takes some back. Does so once per account and idempotency key, if one is given. */
  async creditAccount(accountId: string, usd: number, idempotencyKey?: string) {
    const { id, name } = await requireAccount(db, accountId);
    const amount = requireAmount(usd);
    if (amount === 0) throw new AdminError(`${usd} USD is less than a millionth of a dollar; credit a larger amount`);
    const credited = await creditAccount(db, id, amount, idempotencyKey);
    if (credited === undefined) throw deleted(id);
    return { account_id: id, name, balance_usd: toUsd(credited.balance) };
  },

  /** Deletes an account with its jobs. A server removes them and their files within minutes. Returns its id. */
  async deleteAccount(accountId: string) {
    const id = await identifyAccount(db, accountId);
    if (!(await transaction(db, (trx) => deleteAccount(trx, id, currentTime(db))))) throw deleted(id);
    return id;
  },
});

const keyFunctions = ({ db, keys }: Opened) => ({
  /** Returns the key, which is not shown anywhere else or again. */
  async createKey(accountId: string, name?: string) {
    const { id } = await requireAccount(db, accountId);
    const cleanName = name === undefined ? null : requireName(name);
    const create = (trx: Transaction<Tables>) => keys.create(trx, id, currentTime(db), { name: cleanName });
    const { keyId, apiKey } = await transaction(db, create).catch((error: unknown) => {
      throw error instanceof QuotaError ? new AdminError(error.message) : error;
    });
    return { key_id: keyId, account_id: id, api_key: apiKey };
  },

  async listKeys(accountId?: string) {
    const account = accountId === undefined ? undefined : await requireAccount(db, accountId);
    return (await listKeys(db, account?.id)).map(({ ending, ...key }) => key);
  },

  async revokeKey(keyId: string) {
    const id = await identifyKey(db, keyId);
    await transaction(db, (trx) => revokeKey(trx, id, currentTime(db)));
    return id;
  },
});

/** Jobs and their events. */
const jobFunctions = ({ db, dirs, files }: Opened) => ({
  /** Cancels a job that is not finished. Returns its id. */
  async cancelJob(jobId: string) {
    const id = await identifyJob(db, jobId);
    const { outcome } = await cancel(db, id, currentTime(db));
    if (outcome !== 'canceled') throw new AdminError(`Job ${id} is finished; it cannot be canceled`);
    await kindOf(db).wakeup(db, dirs.database).notify('job_canceled');
    return id;
  },

  /** Deletes a job that is not in inference. A server removes its files within a minute. Returns its id. */
  async deleteJob(jobId: string) {
    // The record of a whole id may have expired.
    const id = /^\w{26}$/.test(jobId) ? jobId.toUpperCase() : await identifyJob(db, jobId);
    const outcome = await deleteJob(db, id, currentTime(db));
    if (outcome === 'unknown') throw new AdminError(`No job has the id ${id}`);
    if (outcome === 'in_progress') {
      throw new AdminError(`Job ${id} is in inference. Cancel it first, or delete it when it is finished`);
    }
    return id;
  },

  /** Lists the deletions of accounts and jobs and the revocations of keys, which a restored backup does not have. */
  listDeletions: () => listDeletions(db),

  /** Repeats listed deletions on a restored database and its files. */
  async repeatDeletions(deletions: readonly unknown[]) {
    const { data, error } = Deletion.array().safeParse(deletions);
    if (!data)
      throw new AdminError(`Not a list of deletions: entry ${Number(error.issues[0]?.path[0]) + 1} is unknown`);
    await repeatDeletions(db, files, data);
  },

  listDeadLetters: async () => (await listDeadLetters(db)).map(deadLetter),

  /** Delivers one dead letter again, or all since a point in time. Returns how many. */
  async replayDeadLetters(which: { eventId: string } | { since: Date }) {
    const now = currentTime(db);
    if ('since' in which) return replayDeadLetters(db, { since: which.since.getTime() }, now);
    const count = await replayDeadLetters(db, which, now);
    if (count === 0) {
      throw new AdminError(`${which.eventId} is not a dead letter of an account with a webhook endpoint`);
    }
    return count;
  },
});

/**
 * Opens the data directory for administration. Functions throw an `AdminError` for an unknown id. Close it afterwards.
 */
export async function openAdmin(edges: StoreEdges, config: Config) {
  const store = await openStore(edges, config, { onlyNew: true });
  const { db, serverKeys, keyRing } = store;
  const opened = { ...store, config };
  return {
    ...accountFunctions(opened),
    ...keyFunctions(opened),
    ...jobFunctions(opened),

    /** Returns the path and fragment of a link that signs one browser in as the operator, once, within an hour. */
    signInLink: async () => signInPath(await new DashboardTokens(db, keyRing).issueLink()),

    /**
     * Protects secrets with a new server key from now on. API keys, webhook secrets, sessions and page cursors stay
     * valid, and running servers learn of it.
     */
    async rotateServerKey() {
      await transaction(db, (trx) => serverKeys.rotate(trx));
      await keyRing.refresh();
      await new Endpoints(db, new SecretBox(keyRing)).sealAgain();
    },

    close: () => db.destroy(),
  };
}
