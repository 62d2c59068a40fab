import { userInfo } from 'node:os';
import { newUlid } from '../../base/ids.js';
import { maxRowsRead } from '../db/bounds.js';
import type { Db, Queryable } from '../db/database.js';
import type { Tables } from '../db/tables.js';
import type { Time } from '../db/time.js';

/** Names an operator's action like the command for it, if there is one. */
export type AuditedAction =
  | 'account create'
  | 'account credit'
  | 'account delete'
  | 'account rename'
  | 'key create'
  | 'key revoke'
  | 'job cancel'
  | 'job delete'
  | 'dead-letter replay'
  | 'server-key rotate'
  | 'sign-in-link create';

/**
 * An operator's action. Contains ids and amounts, but no secrets, and no names or other texts of an account, which must
 * not outlive it.
 */
export interface Action {
  /** The operator who did it, for example `operator at 192.0.2.7 through 10.0.0.5` (a proxy) or `gen3d admin (OS user root)`. */
  who: string;
  action: AuditedAction;
  /** The id of the account, key, job or event. */
  subject?: string;
  detail?: string;
}

/** Records an operator's action. Must run in the transaction of the action, so neither exists without the other. */
export async function audit(trx: Queryable, { subject, detail, ...action }: Action, now: Time): Promise<void> {
  await trx
    .insertInto('audit_log')
    .values({ id: newUlid(), ...action, subject: subject ?? null, detail: detail ?? null, created_at: now })
    .execute();
}

/** Lists the operators' newest actions, newest first. */
export const listAudit = (db: Queryable): Promise<Tables['audit_log'][]> =>
  db.selectFrom('audit_log').selectAll().orderBy('id', 'desc').limit(maxRowsRead).execute();

/** This many entries take about 20 MB. */
const maxEntries = 100_000;

/** Deletes the oldest entries if there are too many. */
export async function limitAudit(db: Db, max = maxEntries): Promise<void> {
  const newestBeyond = await db
    .selectFrom('audit_log')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .offset(max)
    .executeTakeFirst();
  if (newestBeyond) await db.deleteFrom('audit_log').where('id', '<=', newestBeyond.id).execute();
}

function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    // Users in containers often have no name.
    return String(process.getuid?.());
  }
}

/** Names the user who runs a command of gen3d, for the audit log. */
export const commandUser = (command: string): string => `gen3d ${command} (OS user ${osUser()})`;
