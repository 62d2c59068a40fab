import pg from 'pg';

/** A database with all tables. The databases of the tests are copies of it. */
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

/** Creates a database on the server at `url`, empty or as a copy of another. */
export const createDatabase = (url: string, name: string, template = 'template0'): Promise<void> =>
  run(url, `create database ${name} template ${template}`);

/** Drops a database and closes its connections. */
export const dropDatabase = (url: string, name: string): Promise<void> =>
  run(url, `drop database ${name} with (force)`);
