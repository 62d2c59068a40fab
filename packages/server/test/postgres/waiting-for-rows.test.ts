import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { type ApiResponse, adminOf, createJob, databaseOf, imageJob, startServer } from '../kit.js';

/** More than the server's connections to the database. */
const requests = 20;

test.each<[string, (id: string) => [path: string, body?: unknown]]>([
  ['cancel', (id) => [`/gen3d/jobs/${id}/cancel`]],
  ['create', () => ['/v1/jobs', imageJob('https://example.com/photo.jpg')]],
])('requests to %s a job that wait for a row leave connections for other accounts', async (_, requestOf) => {
  const server = await startServer();
  const admin = await adminOf(server);
  const { account_id } = await admin.createAccount('other', 10);
  const { api_key } = await admin.createKey(account_id);
  const id = await createJob(server.call, imageJob('https://example.com/photo.jpg'));
  const [path, body] = requestOf(id);

  const db = databaseOf(server.config.database);
  const waiting = await db.transaction().execute(async (trx) => {
    await sql`select * from jobs join accounts on accounts.id = account_id where jobs.id = ${id} for update`.execute(
      trx,
    );
    const sent: Promise<ApiResponse>[] = [];
    while (sent.length < requests) {
      sent.push(server.call('POST', path, body));
      // Requests to create jobs that arrive together share a transaction.
      await pause(20);
    }
    for (let i = 0; i < 5; i++) expect((await server.call('GET', '/v1/jobs', undefined, api_key)).status).toBe(200);
    return sent;
  });
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  expect(statuses.filter((status) => status < 300).length).toBeGreaterThan(0);
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
});
