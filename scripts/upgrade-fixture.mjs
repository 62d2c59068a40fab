// `node scripts/upgrade-fixture.mjs GEN3D_JS NAME`: writes packages/server/test/upgrades/NAME, the data directory of a
// server of the version whose packages/cli/bin/gen3d.js is GEN3D_JS. Run it for each release with new migrations.
// upgrades.test.ts opens all fixtures.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Failed, main, start, stop } from './processes.mjs';
import { requireFrom, root } from './repository.mjs';
import { envWithoutSettings, listeningUrl } from './throwaway-server.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');
/** @type {typeof import('better-sqlite3')} */
const Database = requireFrom('server')('better-sqlite3');

const apiKey = 'gen3d_0123456789abcdefghijklmnopqrstuvwxyzABCD';
const disc = '<svg width="64" height="64"><circle cx="32" cy="32" r="24" fill="#c33"/></svg>';

await main(async (atEnd) => {
  const [gen3d = '', name = ''] = process.argv.slice(2);
  if (!existsSync(gen3d) || name === '') throw new Failed('Usage: node scripts/upgrade-fixture.mjs GEN3D_JS NAME');
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-upgrade-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  const dataDir = join(folder, 'data');
  /** @param {string} workers */
  const serve = (workers) =>
    start(process.execPath, [resolve(gen3d), 'serve', '--port', '0', '--workers', workers], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...envWithoutSettings(),
        GEN3D_CONFIG_DIR: join(folder, 'config'),
        GEN3D_DATA_DIR: dataDir,
        GEN3D_BUNDLE: 'inflate',
        GEN3D_DEVICE: 'cpu',
        GEN3D_RESOLUTION: '32',
        GEN3D_TEXTURE_SIZE: '256',
        GEN3D_RATES: '{"cpu":0.5}',
        GEN3D_INSTANCE: 'cpu',
        GEN3D_NO_TEST_KEY: 'true',
        GEN3D_ALLOW_PRIVATE_NETWORK: 'true',
        GEN3D_BOOTSTRAP_API_KEY: apiKey,
        GEN3D_BOOTSTRAP_BALANCE_USD: '10',
      },
    });

  const busy = serve('1');
  const client = await clientOf(busy);
  // No delivery succeeds: the events stay in the outbox.
  await client('PUT', '/v1/webhook-endpoint', { url: 'https://127.0.0.1:1/hook' });
  const image = `data:image/png;base64,${(await sharp(Buffer.from(disc)).png().toBuffer()).toString('base64')}`;
  const job = { type: 'image-to-3d', input: { image_urls: [image] } };
  await ended(client, { ...job, idempotency_key: 'succeeded' });
  await ended(client, { ...job, type: 'reserved', idempotency_key: 'failed' });
  await stop(busy);
  // Without a runner, the job keeps waiting, with its image.
  const idle = serve('0');
  await (await clientOf(idle))('POST', '/v1/jobs', { ...job, idempotency_key: 'waiting' });
  await stop(idle);

  const target = join(root, 'packages/server/test/upgrades', name);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const kept of ['assets', 'inputs', 'server.key']) {
    cpSync(join(dataDir, kept), join(target, kept), { recursive: true });
  }
  // The server does not read models, and whole ones take 100 kB each.
  for (const file of readdirSync(join(target, 'assets'), { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.glb')) truncateSync(join(target, 'assets', file), 1_000);
  }
  writeFileSync(join(target, 'gen3d.sql'), dump(join(dataDir, 'gen3d.sqlite')));
});

/** @param {import('./processes.mjs').Program} server */
async function clientOf(server) {
  const url = await listeningUrl(server);
  /** @param {string} method @param {string} path @param {object} [body] */
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Failed(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
}

/** @param {Awaited<ReturnType<typeof clientOf>>} client @param {object} body */
async function ended(client, body) {
  const { job_id: id } = await client('POST', '/v1/jobs', body);
  while (!(await client('GET', `/v1/jobs/${id}`)).finished_at) await pause(200);
}

/**
 * The statements that create the database.
 *
 * @param {string} path
 */
function dump(path) {
  const database = new Database(path, { readonly: true });
  const objects = /** @type {{ type: string, name: string, sql: string }[]} */ (
    database
      .prepare(
        "select type, name, sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by rowid",
      )
      .all()
  );
  const rows = objects
    .filter(({ type }) => type === 'table')
    .flatMap(({ name }) =>
      /** @type {unknown[][]} */ (database.prepare(`select * from "${name}"`).raw().all()).map(
        (values) => `insert into "${name}" values (${values.map(literal).join(', ')})`,
      ),
    );
  database.close();
  return [...objects.map(({ sql }) => sql), ...rows].map((statement) => `${statement};\n`).join('');
}

/** @param {unknown} value */
function literal(value) {
  if (value === null) return 'null';
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}
