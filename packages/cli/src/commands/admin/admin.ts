import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Admin, Config } from '@gen3d/server';
import { type Command, InvalidArgumentError } from 'commander';
import { emptyProfile, readProfile } from '../../connection/profile.js';
import { UsageError } from '../../exit/failure.js';
import { serverConfig } from '../../server-options.js';
import { count, shellWord, table } from '../../terminal/format.js';
import { print, printJson, say } from '../../terminal/terminal.js';
import { addBackup } from './backup.js';
import { addMigrateTo } from './migrate-to.js';

/** Runs one administrative act on the database of the chosen data directory. */
async function administer(command: Command, act: (admin: Admin, json: boolean) => Promise<void>): Promise<void> {
  const config = await serverConfig(command);
  // Whoever mistyped it would give out keys that the server has never heard of.
  if (!existsSync(config.dataDir)) {
    say(`${config.dataDir} was not there and is made now. Is the server's data elsewhere? Say where with --data-dir`);
  }
  const { openAdmin } = await import('@gen3d/server');
  const admin = await openAdmin(config);
  try {
    await act(admin, command.optsWithGlobals().json === true);
  } finally {
    await admin.close();
  }
}

/** Nothing on stdout where there is nothing, so that lines can be counted. */
function printRows(rows: readonly (readonly string[])[], none: string): void {
  if (rows.length > 0) print(table(rows));
  else say(none);
}

export function addAdmin(program: Command): void {
  const admin = program
    .command('admin')
    .summary('accounts, keys, jobs and dead letters')
    .description(
      "Act on a server's database, whether the server is running or not. For the operator: no key is needed.",
    )
    .option('--json', 'print JSON');
  addAccounts(admin.command('account').summary('accounts and their balance'));
  addKeys(admin.command('key').summary('API keys'));
  addJobs(admin.command('job').summary("anybody's jobs"));
  addDeadLetters(admin.command('dead-letter').summary('webhook deliveries that were given up'));
  addBackup(admin);
  addMigrateTo(admin);
  admin
    .command('sign-in-link')
    .summary('print a link that opens the dashboard as its operator')
    .description('Print a link that signs one browser in to the dashboard as its operator: once, within an hour.')
    .action(async (_: unknown, command: Command) => {
      const config = await serverConfig(command);
      await requireInstallation(config);
      const address = config.publicUrl ?? (await addressOf(config.dataDir)) ?? `http://${config.host}:${config.port}`;
      await administer(command, async (admin, json) => {
        const link = address + (await admin.signInLink());
        if (json) return printJson({ sign_in_link: link });
        print(link);
        say('It works once, within an hour');
      });
    });
}

/**
 * A link to a server that is not there helps nobody, and its making would leave a new data directory behind. What
 * PostgreSQL holds is seen by whoever opens it.
 *
 * @throws {UsageError} if no server has ever used the data directory; the message names those this machine knows
 */
async function requireInstallation({ database, dataDir }: Config): Promise<void> {
  if (database !== 'sqlite' || isInstallation(dataDir)) return;
  const { servers } = await readProfile().catch(() => emptyProfile);
  const known = Object.values(servers).flatMap((server) => server.dataDir ?? []);
  const others = known.filter(isInstallation).map((folder) => `  --data-dir ${shellWord(folder)}`);
  throw new UsageError(
    [
      `There is no installation at ${dataDir}. Start \`gen3d serve\` there, or say with --data-dir where the server's data is${others.length ? '. Known here:' : ''}`,
      ...others,
    ].join('\n'),
  );
}

/** The first start makes the key, and no server works without it. */
const isInstallation = (dataDir: string) => existsSync(join(dataDir, 'server.key'));

/** Where this machine last served a data directory, if it did. */
async function addressOf(dataDir: string): Promise<string | undefined> {
  const { servers } = await readProfile().catch(() => emptyProfile);
  return Object.entries(servers).find(([, server]) => server.dataDir === dataDir)?.[0];
}

function addAccounts(account: Command): void {
  account
    .command('create')
    .argument('<name>')
    .option('--balance <usd>', 'what it begins with', usd, 0)
    .action((name: string, options: { balance: number }, command: Command) =>
      administer(command, async (admin, json) => {
        const created = await admin.createAccount(name, options.balance);
        if (json) return printJson(created);
        print(created.account_id);
        say(
          `Made the account "${name}" with ${created.balance_usd} USD. A key for it: gen3d admin key create ${created.account_id}`,
        );
      }),
    );
  account.command('list').action((_: unknown, command: Command) =>
    administer(command, async (admin, json) => {
      const accounts = await admin.listAccounts();
      if (json) return printJson(accounts);
      const row = ({ account_id, name, balance_usd }: (typeof accounts)[number]) => [
        account_id,
        `${balance_usd} USD`,
        name,
      ];
      printRows(accounts.map(row), 'There are no accounts. Make one with `gen3d admin account create NAME`');
    }),
  );
  account
    .command('credit')
    .summary('add money; a negative amount takes some back')
    .argument('<account-id>')
    .argument('<usd>', 'an amount in USD', usd)
    .action((id: string, amount: number, _: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const credited = await admin.creditAccount(id, amount);
        if (json) printJson(credited);
        else print(`${credited.balance_usd} USD`);
      }),
    );
}

function addKeys(key: Command): void {
  key
    .command('create')
    .summary('make a key; it is shown only this once')
    .argument('<account-id>')
    .option('--name <name>', 'what it is for; shown where keys are listed')
    .action((id: string, { name }: { name?: string }, command: Command) =>
      administer(command, async (admin, json) => {
        const created = await admin.createKey(id, name);
        if (json) return printJson(created);
        print(created.api_key);
        say(`Shown only this once. To revoke it: gen3d admin key revoke ${created.key_id}`);
      }),
    );
  key
    .command('list')
    .argument('[account-id]')
    .action((id: string | undefined, _: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const keys = await admin.listKeys(id);
        if (json) return printJson(keys);
        const row = ({ key_id, account_id, name, created_at, last_used_at, revoked_at }: (typeof keys)[number]) => [
          key_id,
          account_id,
          created_at,
          revoked_at ? `revoked ${revoked_at}` : last_used_at ? `used ${last_used_at}` : 'never used',
          name ?? '',
        ];
        printRows(keys.map(row), 'There are no keys. Make one with `gen3d admin key create ACCOUNT_ID`');
      }),
    );
  key
    .command('revoke')
    .argument('<key-id>')
    .action((id: string, _: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        await admin.revokeKey(id);
        if (json) printJson({ key_id: id });
        else say(`The key ${id} no longer works`);
      }),
    );
}

function addJobs(job: Command): void {
  job
    .command('cancel')
    .summary('cancel a job that is not in inference or finished')
    .argument('<job-id>')
    .action((id: string, _: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        await admin.cancelJob(id);
        if (json) printJson({ job_id: id });
        else say(`Job ${id} is canceled`);
      }),
    );
}

function addDeadLetters(deadLetter: Command): void {
  deadLetter.command('list').action((_: unknown, command: Command) =>
    administer(command, async (admin, json) => {
      const letters = await admin.listDeadLetters();
      if (json) return printJson(letters);
      const row = ({ event_id, account_id, event, task_id, dead_at, last_failure }: (typeof letters)[number]) => [
        event_id,
        dead_at,
        account_id,
        event,
        task_id ?? '',
        last_failure ?? '',
      ];
      printRows(letters.map(row), 'There are no dead letters');
    }),
  );
  deadLetter
    .command('replay')
    .summary('deliver again')
    .argument('[event-id]')
    .option('--since <time>', 'all that were given up since then: an ISO 8601 time', time)
    .action((eventId: string | undefined, options: { since?: Date }, command: Command) => {
      const { since } = options;
      if ((eventId === undefined) === (since === undefined)) throw new UsageError('Give either an event id or --since');
      return administer(command, async (admin, json) => {
        const replayed = await admin.replayDeadLetters(since ? { since } : { eventId: eventId ?? '' });
        if (json) printJson({ replayed });
        else say(`${count(replayed, 'delivery', 'deliveries')} on the way again`);
      });
    });
}

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
