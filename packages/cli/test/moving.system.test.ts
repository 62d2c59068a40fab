import { stat } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { testFolder } from './run.js';

const { gen3d, path, serve } = testFolder();

let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  server = await serve('--workers', '0');
});

describe('admin backup', () => {
  test('prints the path of the copy, and what else a backup needs', async () => {
    const { code, stdout, stderr } = await gen3d(['admin', 'backup', 'gen3d.backup']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${path('gen3d.backup')}\n` });
    for (const missing of ['server.key', 'assets', 'inputs']) expect(stderr).toContain(path('data', missing));
    const { mode, size } = await stat(path('gen3d.backup'));
    expect((mode & 0o777).toString(8)).toBe('600');
    const { stdout: json } = await gen3d(['admin', 'backup', 'another.backup', '--json']);
    expect(JSON.parse(json)).toEqual({ file: path('another.backup'), bytes: size });
  });
});

describe('admin migrate-to', () => {
  const unreachable = 'postgres://gen3d:s3cret@127.0.0.1:1/gen3d';

  test('rejects other targets than PostgreSQL and other sources than SQLite', async () => {
    for (const args of [['mysql://127.0.0.1/gen3d'], [unreachable, '--database', unreachable]]) {
      const { code, stderr } = await gen3d(['admin', 'migrate-to', ...args]);
      expect(stderr).toMatch(/^error: (Pass the URL of a PostgreSQL database|The source must be the SQLite database)/);
      expect(code).toBe(2);
    }
  });

  test('fails while the server runs, and names an unreachable database without its password', async () => {
    const rejected = await gen3d(['admin', 'migrate-to', unreachable]);
    expect(rejected.stderr).toMatch(/gen3d\.sqlite is open in a server, a worker or another gen3d command/);
    expect(rejected.code).toBe(1);
    server.child.kill('SIGTERM');
    await server.ended;
    const { code, stderr } = await gen3d(['admin', 'migrate-to', unreachable]);
    expect(stderr).toMatch(/^error: Cannot use postgres:\/\/gen3d@127\.0\.0\.1:1\/gen3d\. /);
    expect(stderr).not.toContain('s3cret');
    expect(code).toBe(1);
  });
});
