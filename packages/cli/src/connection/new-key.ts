import { AuthenticationError, Gen3d } from '@gen3d/sdk';
import type { Config } from '@gen3d/server';
import { UsageError } from '../exit/failure.js';

/**
 * Creates an API key in the database of a server on this machine, and tests it.
 *
 * @param accountName the account of the key. Default: the only account
 * @throws {UsageError} if it does not match exactly one account, or the server does not use this database, which must exist
 */
export async function createKey(config: Config, baseUrl: string, accountName?: string): Promise<string> {
  const { openAdmin } = await import('@gen3d/server');
  const admin = await openAdmin(config);
  try {
    const accounts = await admin.listAccounts();
    const [account, ...others] = accounts.filter(({ name }) => accountName === undefined || name === accountName);
    if (!account || others.length > 0) {
      if (accounts.length === 0) {
        throw new UsageError(
          `There are no accounts in ${config.dataDir}. Create one with \`gen3d admin account create NAME\``,
        );
      }
      const names = accounts.map(({ name }) => name).join(', ');
      const problem = account ? 'There are several accounts' : `No account is named ${accountName}`;
      throw new UsageError(`${problem}. Choose one with \`gen3d login --new-key --account NAME\`: ${names}`);
    }
    const { key_id, api_key } = await admin.createKey(account.account_id, 'gen3d login');
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
