import pg from 'pg';

/** The tests' databases are copies of it: migrated once. */
export const template = 'gen3d_template';

export function urlOfDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Makes a database on the server at `url`, empty or as a copy of another. */
export const createDatabase = (url: string, name: string, template = 'template0'): Promise<void> =>
  run(url, `create database ${name} template ${template}`);

/** Drops a database with everybody who is connected to it. */
export const dropDatabase = (url: string, name: string): Promise<void> =>
  run(url, `drop database ${name} with (force)`);
