import { AuthenticationError, Gen3d } from '@gen3d/sdk';
import type { Admin, Config } from '@gen3d/server';
import { UsageError } from '../exit/failure.js';
import { table } from '../terminal/format.js';
import { nextCommand } from '../terminal/next-command.js';

/**
 * Creates an API key in the database of a server on this machine, and tests it.
 *
 * @param account the name or id of the key's account, or a unique prefix of the id. Default: the only account
 * @throws {UsageError} if it does not match exactly one account, or the server does not use this database, which must exist
 */
export async function createKey(config: Config, baseUrl: string, account?: string): Promise<string> {
  const { openAdmin } = await import('@gen3d/server');
  const admin = await openAdmin(config);
  try {
    const { key_id, api_key } = await admin
      .createKey(account ?? (await onlyAccount(admin, config)), 'gen3d login')
      .catch((error: unknown) => {
        throw error instanceof Error && error.name === 'AdminError'
          ? new UsageError(error.message, { cause: error })
          : error;
      });
    try {
      await new Gen3d({ apiKey: api_key, baseUrl, maxRetries: 2 }).balance.retrieve();
    } catch (error) {
      await admin.revokeKey(key_id);
      if (!(error instanceof AuthenticationError)) throw error;
      throw new UsageError(
        `${baseUrl} does not use the data in ${config.dataDir}. Select its --data-dir or --database`,
      );
    }
    return api_key;
  } finally {
    await admin.close();
  }
}

async function onlyAccount(admin: Admin, config: Config): Promise<string> {
  const accounts = await admin.listAccounts();
  const [account, ...others] = accounts;
  if (!account) {
    const command = nextCommand('admin account create NAME');
    throw new UsageError(`There are no accounts in ${config.dataDir}. Create one with \`${command}\``);
  }
  if (others.length === 0) return account.account_id;
  const command = nextCommand('login --new-key --account ACCOUNT');
  const rows = accounts.map(({ account_id, name }) => [`  ${account_id}`, name]);
  throw new UsageError(`There are several accounts. Choose one by its name or id with \`${command}\`:\n${table(rows)}`);
}
