import { sql } from 'kysely';
import { AdminError } from '../../base/errors.js';
import type { Queryable } from '../db/database.js';

/** A row that matches the operator's input. */
interface Candidate {
  id: string;
  /** Distinguishes it from the others. */
  about: string | null;
}

/** A longer list would not help the user to choose. */
const maxCandidates = 10;

/** @throws {AdminError} unless there is exactly one candidate */
function only(kind: string, given: string, candidates: readonly Candidate[], hint = ''): string {
  const [first, ...others] = candidates;
  if (!first) throw new AdminError(`No ${kind} has the id ${given}${hint}`);
  if (others.length === 0) return first.id;
  const lines = candidates.slice(0, maxCandidates).map(({ id, about }) => `  ${id}  ${about ?? ''}`.trimEnd());
  const more = candidates.length > maxCandidates ? ['  and more'] : [];
  throw new AdminError([`${given} matches several ${kind}s. Use an id:`, ...lines, ...more].join('\n'));
}

/** Returns the bounds of the ids that start with a text. "~" sorts after all characters of an id. */
const range = (start: string) => [start.toUpperCase(), `${start.toUpperCase()}~`] as const;

// Each function takes an id or a prefix of one, and returns the id. If there are several candidates, it throws an
// AdminError that lists them.

/** Also accepts the name of an account. Never finds the account of the public test key. */
export async function identifyAccount(db: Queryable, given: string): Promise<string> {
  const accounts = db
    .selectFrom('accounts')
    .select(['id', 'name as about'])
    .where('sandbox', '=', 0)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .limit(maxCandidates + 1);
  const named = await accounts.where('name', '=', given).execute();
  const [from, to] = range(given);
  const candidates = named.length > 0 ? named : await accounts.where('id', '>=', from).where('id', '<=', to).execute();
  return only('account', given, candidates, ' or that name. `gen3d admin account list` shows all');
}

export const identifyKey = async (db: Queryable, given: string): Promise<string> =>
  only('key', given, await withIdLike(db, 'api_keys', 'name', given), '. `gen3d admin key list` shows all');

export const identifyJob = async (db: Queryable, given: string): Promise<string> =>
  only('job', given, await withIdLike(db, 'jobs', 'label', given));

function withIdLike(db: Queryable, table: 'api_keys' | 'jobs', about: 'name' | 'label', given: string) {
  const [from, to] = range(given);
  return db
    .selectFrom(table)
    .select(['id', sql.ref<string | null>(about).as('about')])
    .where('id', '>=', from)
    .where('id', '<=', to)
    .orderBy('id')
    .limit(maxCandidates + 1)
    .execute();
}
