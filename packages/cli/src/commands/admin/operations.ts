import { readFileSync } from 'node:fs';
import { limits } from '@gen3d/schema/rules';
import type { Admin, Config } from '@gen3d/server';
import { Argument, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../../exit/failure.js';
import { count } from '../../terminal/format.js';

/** The values of all arguments and options, by their names. An operation gets those that it takes. */
interface Values {
  readonly account: string;
  readonly name: string;
  readonly usd: number;
  readonly balance?: number;
  readonly idempotencyKey?: string;
  readonly 'key-id': string;
  readonly 'job-id': string;
  readonly 'event-id'?: string;
  readonly since?: Date;
  readonly repeat?: string;
}

/** An operation on the database. With --json, its result is printed as it is. */
export interface Operation<Result = unknown> {
  /** The words after `gen3d admin`. */
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly takes?: readonly (Argument | Option)[];
  /** Whether the operation may be the first on a data directory. */
  readonly isFirst?: boolean;
  call(admin: Admin, values: Values, config: Config): Promise<Result>;
  /** The cells of each row of a list. */
  columns?(row: Result extends readonly (infer Row)[] ? Row : never, isFree: boolean): readonly string[];
  /** The text of a list without rows. */
  empty?(): string;
  /** Printed to stdout. */
  prints?(result: Result): string;
  /** Printed to stderr. */
  says?(result: Result, isFree: boolean): readonly string[];
}

// Lets TypeScript infer the result of each operation.
const operation = <Result>(row: Operation<Result>): Operation<Result> => row;

const account = () => new Argument('<account>', "the account's name, its id, or a unique prefix of the id");
const job = () => new Argument('<job-id>', "the job's id, or a unique prefix of it");

export const groups: Readonly<Record<string, string>> = {
  account: 'manage accounts and their balance',
  key: 'manage API keys',
  job: 'manage jobs of all accounts',
  'dead-letter': 'manage failed webhook deliveries',
  'server-key': 'replace the server key',
};

export const operations: readonly Operation[] = [
  operation({
    name: 'account create',
    summary: 'create an account',
    takes: [
      new Argument('<name>', 'its name'),
      new Option('--balance <usd>', 'the initial balance; default: 0, or 10 where models cost nothing').argParser(usd),
    ],
    isFirst: true,
    call: (admin, { name, balance }) => admin.createAccount(name, balance),
    prints: ({ account_id }) => account_id,
    says: ({ account_id, name, balance_usd }, isFree) => [
      `Created the account "${name}"${isFree ? '' : ` with ${balance_usd} USD`}`,
      ...(balance_usd < limits.minBalanceUsd
        ? [`Jobs require ${limits.minBalanceUsd} USD: gen3d admin account credit ${account_id} 10`]
        : []),
      `To create an API key: gen3d admin key create ${account_id}`,
    ],
  }),
  operation({
    name: 'account list',
    summary: 'list all accounts',
    call: (admin) => admin.listAccounts(),
    columns: ({ account_id, name, balance_usd }, isFree) =>
      isFree ? [account_id, name] : [account_id, `${balance_usd} USD`, name],
    empty: () => 'There are no accounts. To create one: gen3d admin account create NAME',
  }),
  operation({
    name: 'account rename',
    summary: 'change the name of an account',
    takes: [account(), new Argument('<name>', 'its new name')],
    call: (admin, { account, name }) => admin.renameAccount(account, name),
    says: ({ account_id, name }) => [`Account ${account_id} is now named "${name}"`],
  }),
  operation({
    name: 'account credit',
    summary: 'add credit; a negative amount subtracts',
    takes: [
      account(),
      new Argument('<usd>', 'an amount in USD').argParser(usd),
      new Option(
        '--idempotency-key <key>',
        'any text, such as the number of a payment; with the same one, credits only once',
      ),
    ],
    call: (admin, { account, usd, idempotencyKey }) => admin.creditAccount(account, usd, idempotencyKey),
    prints: ({ balance_usd }) => `${balance_usd} USD`,
  }),
  operation({
    name: 'account delete',
    summary: 'delete an account with its jobs, models and keys',
    description:
      'Delete an account with its jobs, models, photos and keys, for good. A running server removes the files within ' +
      'minutes. The ledger keeps the amounts.',
    takes: [account()],
    call: async (admin, { account }) => ({ account_id: await admin.deleteAccount(account) }),
    says: ({ account_id }) => [`Deleted account ${account_id}`],
  }),
  operation({
    name: 'key create',
    summary: 'create a key, which is shown only once',
    takes: [account(), new Option('--name <name>', 'a name for lists of keys')],
    call: (admin, { account, name }) => admin.createKey(account, name),
    prints: ({ api_key }) => api_key,
    says: ({ key_id }) => [`This key is shown only once. To revoke it: gen3d admin key revoke ${key_id}`],
  }),
  operation({
    name: 'key list',
    summary: 'list keys, without their secrets',
    takes: [
      new Argument('[account]', "an account's name, its id, or a unique prefix of the id; default: all accounts"),
    ],
    call: (admin, { account }) => admin.listKeys(account),
    columns: ({ key_id, account_id, name, created_at, last_used_at, revoked_at }) => [
      key_id,
      account_id,
      created_at,
      revoked_at ? `revoked ${revoked_at}` : last_used_at ? `used ${last_used_at}` : 'never used',
      name ?? '',
    ],
    empty: () => 'There are no keys. To create one: gen3d admin key create ACCOUNT',
  }),
  operation({
    name: 'key revoke',
    summary: 'revoke a key immediately',
    takes: [new Argument('<key-id>', "the key's id, or a unique prefix of it")],
    call: async (admin, values) => ({ key_id: await admin.revokeKey(values['key-id']) }),
    says: ({ key_id }) => [`Revoked the key ${key_id}`],
  }),
  operation({
    name: 'job cancel',
    summary: 'cancel a job that is not finished',
    takes: [job()],
    call: async (admin, values) => ({ job_id: await admin.cancelJob(values['job-id']) }),
    says: ({ job_id }) => [`Canceled job ${job_id}`],
  }),
  operation({
    name: 'job delete',
    summary: 'delete a job with its model and photo',
    description: 'Delete a job with its model and photo, for good. A running server removes the files within a minute.',
    takes: [job()],
    call: async (admin, values) => ({ job_id: await admin.deleteJob(values['job-id']) }),
    says: ({ job_id }) => [`Deleted job ${job_id}`],
  }),
  operation({
    name: 'dead-letter list',
    summary: 'list deliveries that failed after all retries',
    call: (admin) => admin.listDeadLetters(),
    columns: ({ event_id, account_id, event, task_id, dead_at, last_failure }) => [
      event_id,
      dead_at,
      account_id,
      event,
      task_id ?? '',
      last_failure ?? '',
    ],
    empty: () => 'There are no dead letters',
  }),
  operation({
    name: 'dead-letter replay',
    summary: 'deliver again',
    takes: [
      new Argument('[event-id]', 'the id of one dead letter'),
      new Option('--since <time>', 'all dead letters since this ISO 8601 time').argParser(time),
    ],
    async call(admin, { 'event-id': eventId, since }) {
      if ((eventId === undefined) === (since === undefined)) {
        throw new UsageError('Pass either an event id or --since');
      }
      return { replayed: await admin.replayDeadLetters(since ? { since } : { eventId: eventId ?? '' }) };
    },
    says: ({ replayed }) => [`Queued ${count(replayed, 'delivery', 'deliveries')}`],
  }),
  operation({
    name: 'server-key rotate',
    summary: 'protect secrets with a new server key',
    description:
      'Protect secrets with a new server key. Servers may be running: API keys, webhook secrets, sessions and page ' +
      'cursors stay valid.',
    call: (admin) => admin.rotateServerKey().then(() => ({})),
    says: () => ['Rotated the server key. API keys and webhook secrets stay valid'],
  }),
  operation({
    name: 'deletions',
    summary: 'list deletions, or repeat them after a restore',
    description:
      'List the deletions of accounts and jobs and the revocations of keys, one per line. A backup still contains what ' +
      'was deleted after it was made. Save this list more often than the database, and repeat it on a restored database ' +
      'before its server starts.',
    takes: [
      new Option('--repeat <file>', 'repeat the deletions in this list'),
      new Option('--assets <dir|s3-url>', 'where the models are, if not in the data directory'),
    ],
    async call(admin, { repeat }) {
      if (repeat === undefined) return admin.listDeletions();
      // `trim` also removes the byte order mark of some editors.
      const lines = readFileSync(repeat, 'utf8').trim().split(/\s*\n/).filter(Boolean);
      await admin.repeatDeletions(lines.map((line) => line.split(/\s+/)).map(([kind, id]) => ({ kind, id })));
      return { repeated: lines.length };
    },
    columns: ({ kind, id }) => [kind, id],
    empty: () => 'Nothing was deleted yet',
    says: (result) => ('repeated' in result ? [`Repeated ${count(result.repeated, 'deletion')}`] : []),
  }),
  operation({
    name: 'sign-in-link',
    summary: 'print a link for the operator to sign in to the dashboard',
    description: 'Print a link that signs one browser in to the dashboard as the operator. Valid once, for one hour.',
    async call(admin, _, config) {
      const { serverUrlIn } = await import('@gen3d/server');
      const url = serverUrlIn(config) ?? config.publicUrl ?? `http://${config.host}:${config.port}`;
      return { sign_in_link: url + (await admin.signInLink()) };
    },
    prints: ({ sign_in_link }) => sign_in_link,
    says: () => ['Valid once, for one hour'],
  }),
];

function usd(text: string): number {
  const amount = Number(text);
  if (text.trim() !== '' && Number.isFinite(amount)) return amount;
  throw new InvalidArgumentError('It must be an amount in USD, such as 10 or 2.5.');
}

function time(text: string): Date {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  throw new InvalidArgumentError('It must be a time such as 2026-01-31T12:00:00Z.');
}
