import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { limits } from '@gen3d/schema/rules';
import type { Admin, Config } from '@gen3d/server';
import { type Command, InvalidArgumentError } from 'commander';
import { hasInstallation, requireInstallation } from '../../connection/installation.js';
import { UsageError } from '../../exit/failure.js';
import { serverConfig } from '../../server-options.js';
import { bytes, count, table } from '../../terminal/format.js';
import { nextCommand } from '../../terminal/next-command.js';
import { print, printJson, say } from '../../terminal/terminal.js';
import { addMigrateTo } from './migrate-to.js';

type Work = (admin: Admin, json: boolean) => Promise<void>;

/** Runs an operation on the database of the selected data directory, which must exist. */
async function administer(command: Command, work: Work): Promise<void> {
  const config = await serverConfig(command);
  await requireInstallation(config);
  await runWork(config, command, work);
}

/** Runs an operation that may be the first on a data directory. */
async function administerNew(command: Command, work: Work): Promise<void> {
  const config = await serverConfig(command);
  // Points out a mistyped directory, in which new accounts would be useless.
  if (!hasInstallation(config)) {
    say(`Creating the data directory ${config.dataDir}. If the server's data is elsewhere, use --data-dir`);
  }
  await runWork(config, command, work);
}

async function runWork(config: Config, command: Command, work: Work): Promise<void> {
  const { openAdmin } = await import('@gen3d/server');
  const admin = await openAdmin(config);
  try {
    await work(admin, command.optsWithGlobals().json === true);
  } finally {
    await admin.close();
  }
}

/** Prints rows to stdout. Without rows, prints a message to stderr, so that stdout has one line per row. */
function printRows(rows: readonly (readonly string[])[], emptyMessage: string): void {
  if (rows.length > 0) print(table(rows));
  else say(emptyMessage);
}

export function addAdmin(program: Command): void {
  const admin = program
    .command('admin')
    .summary('manage accounts, keys, jobs and dead letters')
    .description("Manage a server's database, whether or not the server is running. Requires no API key.")
    .option('--json', 'print JSON');
  const account = admin.command('account').summary('manage accounts and their balance');
  addAccounts(account);
  addAccountChanges(account);
  addKeys(admin.command('key').summary('manage API keys'));
  addJobs(admin.command('job').summary('manage jobs of all accounts'));
  addDeadLetters(admin.command('dead-letter').summary('manage failed webhook deliveries'));
  addServerKey(admin.command('server-key').summary('replace the server key'));
  addAudit(admin);
  addBackup(admin);
  addDeletions(admin);
  addMigrateTo(admin);
  admin
    .command('sign-in-link')
    .summary('print a link for the operator to sign in to the dashboard')
    .description('Print a link that signs one browser in to the dashboard as the operator. Valid once, for one hour.')
    .action(async (_: unknown, command: Command) => {
      const config = await serverConfig(command);
      const { serverUrlIn } = await import('@gen3d/server');
      const url = serverUrlIn(config) ?? config.publicUrl ?? `http://${config.host}:${config.port}`;
      await administer(command, async (admin, json) => {
        const link = url + (await admin.signInLink());
        if (json) return printJson({ sign_in_link: link });
        print(link);
        say('Valid once, for one hour');
      });
    });
}

function addAccounts(account: Command): void {
  account
    .command('create')
    .summary('create an account')
    .argument('<name>', 'its name')
    .option('--balance <usd>', 'the initial balance; default: 0, or 10 where models cost nothing', usd)
    .action((name: string, options: { balance?: number }, command: Command) =>
      administerNew(command, async (admin, json) => {
        const created = await admin.createAccount(name, options.balance);
        if (json) return printJson(created);
        print(created.account_id);
        const isFree = await admin.isFree();
        say(`Created the account "${created.name}"${isFree ? '' : ` with ${created.balance_usd} USD`}`);
        if (created.balance_usd < limits.minBalanceUsd) {
          say(
            `Jobs require ${limits.minBalanceUsd} USD: ${nextCommand(`admin account credit ${created.account_id} 10`)}`,
          );
        }
        say(`To create an API key: ${nextCommand(`admin key create ${created.account_id}`)}`);
      }),
    );
  account
    .command('list')
    .summary('list all accounts')
    .action((_: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const accounts = await admin.listAccounts();
        if (json) return printJson(accounts);
        const isFree = await admin.isFree();
        printRows(
          accounts.map(({ account_id, name, balance_usd }) =>
            isFree ? [account_id, name] : [account_id, `${balance_usd} USD`, name],
          ),
          `There are no accounts. To create one: ${nextCommand('admin account create NAME')}`,
        );
      }),
    );
}

function addAccountChanges(account: Command): void {
  account
    .command('rename')
    .summary('change the name of an account')
    .argument('<account>', "the account's name, its id, or a unique prefix of the id")
    .argument('<name>', 'its new name')
    .action((id: string, name: string, _: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const renamed = await admin.renameAccount(id, name);
        if (json) printJson(renamed);
        else say(`Account ${renamed.account_id} is now named "${renamed.name}"`);
      }),
    );
  account
    .command('credit')
    .summary('add credit; a negative amount subtracts')
    .argument('<account>', "the account's name, its id, or a unique prefix of the id")
    .argument('<usd>', 'an amount in USD', usd)
    .option(
      '--idempotency-key <key>',
      'any text, such as the number of a payment; with the same one, credits only once',
    )
    .action((id: string, amount: number, { idempotencyKey }: { idempotencyKey?: string }, command: Command) =>
      administer(command, async (admin, json) => {
        const credited = await admin.creditAccount(id, amount, idempotencyKey);
        if (json) printJson(credited);
        else print(`${credited.balance_usd} USD`);
      }),
    );
  account
    .command('delete')
    .summary('delete an account with its jobs, models and keys')
    .description(
      'Delete an account with its jobs, models, photos and keys, for good. A running server removes the files within minutes. ' +
        'The ledger keeps the amounts.',
    )
    .argument('<account>', "the account's name, its id, or a unique prefix of the id")
    .action((id: string, _: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const account_id = await admin.deleteAccount(id);
        if (json) printJson({ account_id });
        else say(`Deleted account ${account_id}`);
      }),
    );
}

function addKeys(key: Command): void {
  key
    .command('create')
    .summary('create a key, which is shown only once')
    .argument('<account>', "the account's name, its id, or a unique prefix of the id")
    .option('--name <name>', 'a name for lists of keys')
    .action((id: string, { name }: { name?: string }, command: Command) =>
      administer(command, async (admin, json) => {
        const created = await admin.createKey(id, name);
        if (json) return printJson(created);
        print(created.api_key);
        say(`This key is shown only once. To revoke it: ${nextCommand(`admin key revoke ${created.key_id}`)}`);
      }),
    );
  key
    .command('list')
    .summary('list keys, without their secrets')
    .argument('[account]', "an account's name, its id, or a unique prefix of the id; default: all accounts")
    .action((id: string | undefined, _: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const keys = await admin.listKeys(id);
        if (json) return printJson(keys);
        const rows = keys.map(({ key_id, account_id, name, created_at, last_used_at, revoked_at }) => [
          key_id,
          account_id,
          created_at,
          revoked_at ? `revoked ${revoked_at}` : last_used_at ? `used ${last_used_at}` : 'never used',
          name ?? '',
        ]);
        printRows(rows, `There are no keys. To create one: ${nextCommand('admin key create ACCOUNT')}`);
      }),
    );
  key
    .command('revoke')
    .summary('revoke a key immediately')
    .argument('<key-id>', "the key's id, or a unique prefix of it")
    .action((id: string, _: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const key_id = await admin.revokeKey(id);
        if (json) printJson({ key_id });
        else say(`Revoked the key ${key_id}`);
      }),
    );
}

function addJobs(job: Command): void {
  job
    .command('cancel')
    .summary('cancel a job that is not finished')
    .argument('<job-id>', "the job's id, or a unique prefix of it")
    .action((id: string, _: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const job_id = await admin.cancelJob(id);
        if (json) printJson({ job_id });
        else say(`Canceled job ${job_id}`);
      }),
    );
  job
    .command('delete')
    .summary('delete a job with its model and photo')
    .description('Delete a job with its model and photo, for good. A running server removes the files within a minute.')
    .argument('<job-id>', "the job's id, or a unique prefix of it")
    .action((id: string, _: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const job_id = await admin.deleteJob(id);
        if (json) printJson({ job_id });
        else say(`Deleted job ${job_id}`);
      }),
    );
}

function addDeadLetters(deadLetter: Command): void {
  deadLetter
    .command('list')
    .summary('list deliveries that failed after all retries')
    .action((_: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const letters = await admin.listDeadLetters();
        if (json) return printJson(letters);
        const rows = letters.map(({ event_id, account_id, event, task_id, dead_at, last_failure }) => [
          event_id,
          dead_at,
          account_id,
          event,
          task_id ?? '',
          last_failure ?? '',
        ]);
        printRows(rows, 'There are no dead letters');
      }),
    );
  deadLetter
    .command('replay')
    .summary('deliver again')
    .argument('[event-id]', 'the id of one dead letter')
    .option('--since <time>', 'all dead letters since this ISO 8601 time', time)
    .action((eventId: string | undefined, { since }: { since?: Date }, command: Command) => {
      if ((eventId === undefined) === (since === undefined)) {
        throw new UsageError('Pass either an event id or --since');
      }
      return administer(command, async (admin, json) => {
        const replayed = await admin.replayDeadLetters(since ? { since } : { eventId: eventId ?? '' });
        if (json) printJson({ replayed });
        else say(`Queued ${count(replayed, 'delivery', 'deliveries')}`);
      });
    });
}

function addServerKey(serverKey: Command): void {
  serverKey
    .command('rotate')
    .summary('protect secrets with a new server key')
    .description(
      'Protect secrets with a new server key. Servers may be running: API keys, webhook secrets, sessions and page cursors ' +
        'stay valid. Only `gen3d webhook listen --forward-to` signs with another secret, and prints it when it starts.',
    )
    .action((_: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        await admin.rotateServerKey();
        if (json) printJson({});
        else say('Rotated the server key. API keys and webhook secrets stay valid');
      }),
    );
}

function addAudit(admin: Command): void {
  admin
    .command('audit')
    .summary('list what operators did')
    .description('List what operators did, here and on the dashboard, newest last.')
    .action((_: unknown, command: Command) =>
      administer(command, async (admin, json) => {
        const entries = await admin.listAudit();
        if (json) return printJson(entries);
        const rows = entries.map(({ created_at, action, subject, detail, who }) => [
          created_at,
          action,
          subject ?? '',
          detail ?? '',
          who,
        ]);
        printRows(rows, 'Operators have done nothing yet');
      }),
    );
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

function addBackup(admin: Command): void {
  admin
    .command('backup')
    .summary('back up the SQLite database')
    .description(
      'Write a consistent copy of the SQLite database to a new file. Servers may be running. ' +
        'The copy does not include the server key, the models and the photos of unfinished jobs.',
    )
    .argument('<file>', 'a file that does not exist')
    .action(async (file: string, _: unknown, command: Command) => {
      const config = await serverConfig(command);
      const { backup } = await import('@gen3d/server');
      const written = await backup(config, file);
      if (command.optsWithGlobals().json === true) return printJson(written);
      print(written.file);
      const { dataDir, assets = join(dataDir, 'assets') } = config;
      say(`${bytes(written.bytes)}. A complete backup also needs:`);
      say(
        `  ${join(dataDir, 'server.key')}  the server key, without which API keys do not work. Do not keep it in ${dirname(written.file)}`,
      );
      say(`  ${assets}  the models. Copy them after this backup; they never change`);
      say(`  ${join(dataDir, 'inputs')}  the photos of unfinished jobs`);
    });
}

function addDeletions(admin: Command): void {
  admin
    .command('deletions')
    .summary('list deletions, or repeat them after a restore')
    .description(
      'List the deletions of accounts and jobs and the revocations of keys, one per line. A backup still contains what was ' +
        'deleted after it was made. Save this list more often than the database, and repeat it on a restored database before ' +
        'its server starts.',
    )
    .option('--repeat <file>', 'repeat the deletions in this list')
    .option('--assets <dir|s3-url>', 'where the models are, if not in the data directory')
    .action((options: { repeat?: string }, command: Command) =>
      administer(command, async (admin, json) => {
        const { repeat } = options;
        if (repeat === undefined) {
          const deletions = await admin.listDeletions();
          if (json) return printJson(deletions);
          return printRows(
            deletions.map(({ kind, id }) => [kind, id]),
            'Nothing was deleted yet',
          );
        }
        const lines = readFileSync(repeat, 'utf8').split('\n').filter(Boolean);
        await admin.repeatDeletions(lines.map((line) => line.split(/\s+/)).map(([kind, id]) => ({ kind, id })));
        if (json) printJson({ repeated: lines.length });
        else say(`Repeated ${count(lines.length, 'deletion')}`);
      }),
    );
}
