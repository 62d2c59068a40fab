import { requireFrom } from '../../../scripts/repository.mjs';

/** @type {typeof import('pg')} */
const pg = requireFrom('server')('pg');

/**
 * Runs a statement on a new connection.
 *
 * @param {string} url
 * @param {string} statement
 */
export async function queryPostgres(url, statement) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Creates a database on the PostgreSQL server of `url` and returns its URL.
 *
 * @param {string} url
 * @param {string} name
 */
export async function createPostgresDatabase(url, name) {
  await queryPostgres(url, `create database ${name}`);
  const database = new URL(url);
  database.pathname = `/${name}`;
  return database.href;
}
