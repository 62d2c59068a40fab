import { requireFrom } from '../repository.mjs';

const requireServer = requireFrom('server');
/** @type {typeof import('better-sqlite3')} */
export const Sqlite = requireServer('better-sqlite3');
/** @type {typeof import('pg')} */
const pg = requireServer('pg');

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

const base32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * A ULID with a known random part, so that seeded rows are unique and their order is known.
 *
 * @param {number} time in ms
 * @param {number} index
 */
export const seededUlid = (time, index) => inBase32(time, 10) + inBase32(index, 16);

/**
 * @param {number} value
 * @param {number} length
 */
const inBase32 = (value, length) =>
  Array.from({ length }, (_, at) => base32[Math.floor(value / 32 ** (length - 1 - at)) % 32]).join('');
