import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { temporaryFolder } from '../../packages/engine/src/temporary-folder.fixture.js';
import { sign } from '../../packages/server/src/work/webhooks/post-event.js';
import { freePort } from '../../packages/server/test/free-port.js';
import { pages, root } from './markdown.js';

const secret = `whsec_${'n'.repeat(40)}`;
const oldSecret = `whsec_${'o'.repeat(40)}`;

interface Language {
  readonly fence: string;
  /** A tool that the language needs, if any. */
  readonly tool?: readonly [command: string, ...args: string[]];
  /** Writes the program into a folder. Returns the command that runs it. */
  prepare(folder: string, program: string): [command: string, ...args: string[]];
}

const languages: readonly Language[] = [
  {
    fence: 'ts',
    prepare(folder, program) {
      const { outputText } = ts.transpileModule(program, { compilerOptions: { module: ts.ModuleKind.ESNext } });
      writeFileSync(join(folder, 'receiver.mjs'), outputText);
      mkdirSync(join(folder, 'node_modules/@gen3d'), { recursive: true });
      symlinkSync(join(root, 'packages/sdk'), join(folder, 'node_modules/@gen3d/sdk'), 'junction');
      symlinkSync(join(root, 'packages/server/node_modules/express'), join(folder, 'node_modules/express'), 'junction');
      return [process.execPath, 'receiver.mjs'];
    },
  },
  {
    fence: 'python',
    tool: ['python3', '--version'],
    prepare(folder, program) {
      writeFileSync(join(folder, 'receiver.py'), program);
      return ['python3', 'receiver.py'];
    },
  },
  {
    fence: 'go',
    tool: ['go', 'version'],
    prepare(folder, program) {
      writeFileSync(join(folder, 'receiver.go'), program);
      const { status, stderr } = spawnSync('go', ['build', '-o', 'receiver', 'receiver.go'], {
        cwd: folder,
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(stderr);
      return [join(folder, 'receiver')];
    },
  },
];

const blocks = pages().find(({ path }) => path === 'docs/webhooks.md')?.blocks ?? [];
const isInstalled = ([command, ...args]: readonly [string, ...string[]]) => spawnSync(command, args).status === 0;

function eventOf(id: string): Buffer {
  return Buffer.from(
    JSON.stringify({
      event: 'task.updated',
      event_id: id,
      user_id: 'müller',
      task_id: `job-of-${id}`,
      type: 'image-to-3d',
      status: 'SUCCEEDED',
      progress: 100,
      model_urls: { glb: `https://example.com/${id}.glb` },
      timestamp: '2026-01-31T12:00:00.000Z',
    }),
  );
}

/** The headers of a delivery, signed by the server's code. */
const signed = (body: Uint8Array, key = secret, sentAt = new Date()) => ({
  'x-generate-timestamp': sentAt.toISOString(),
  'x-generate-signature': sign(key, sentAt.toISOString(), body),
});

const secondsFromNow = (seconds: number) => new Date(Date.now() + seconds * 1_000);

for (const { fence, tool, prepare } of languages) {
  const missing = tool && !isInstalled(tool);
  if (missing) console.warn(`SKIPPED: the ${fence} receiver of docs/webhooks.md, because ${tool[0]} was not found`);

  describe.skipIf(missing)(`the ${fence} receiver of docs/webhooks.md`, () => {
    const folder = temporaryFolder(afterAll);
    let child: ChildProcess | undefined;
    let url = '';
    let printed = '';

    beforeAll(async () => {
      const programs = blocks.filter(({ language }) => language === fence);
      expect(programs).toHaveLength(1);
      const [command, ...args] = prepare(folder, programs[0]?.text ?? '');
      const port = await freePort();
      url = `http://127.0.0.1:${port}/gen3d`;
      child = spawn(command, args, {
        cwd: folder,
        env: { ...process.env, PORT: String(port), GEN3D_WEBHOOK_SECRET: `${secret},${oldSecret}` },
        stdio: 'pipe',
      });
      child.stdout?.on('data', (chunk) => {
        printed += chunk;
      });
      let errors = '';
      child.stderr?.on('data', (chunk) => {
        errors += chunk;
      });
      await vi
        .waitFor(() => statusOf(Buffer.from('{}'), {}), { timeout: 60_000 })
        .catch((cause) => {
          throw new Error(`the receiver does not respond: ${errors}`, { cause });
        });
    }, 120_000);

    afterAll(async () => {
      if (child && child.exitCode === null) {
        const ended = new Promise((resolve) => child?.once('close', resolve));
        child.kill();
        await ended;
      }
    });

    const statusOf = async (body: Uint8Array, headers: Record<string, string>) =>
      (await fetch(url, { method: 'POST', body: new Uint8Array(body), headers })).status;

    test("accepts a delivery signed by the server's code", async () => {
      const body = eventOf('A');
      expect(await statusOf(body, signed(body))).toBe(204);
      await expect.poll(() => printed).toContain('job-of-A https://example.com/A.glb');
    });

    test('accepts a repeated event, signed again, and ignores it', async () => {
      const body = eventOf('C');
      expect(await statusOf(body, signed(body, secret, secondsFromNow(-5)))).toBe(204);
      expect(await statusOf(body, signed(body))).toBe(204);
      const next = eventOf('D');
      expect(await statusOf(next, signed(next))).toBe(204);
      await expect.poll(() => printed).toContain('job-of-D');
      expect(printed.match(/job-of-C/g)).toHaveLength(1);
    });

    test('accepts the old and the new secret, and no other', async () => {
      const body = eventOf('E');
      expect(await statusOf(body, signed(body, oldSecret))).toBe(204);
      expect(await statusOf(body, signed(body, `whsec_${'x'.repeat(40)}`))).toBe(400);
    });

    test('rejects a body that was changed, or parsed and serialized again', async () => {
      const body = eventOf('F');
      const headers = signed(body);
      expect(await statusOf(Buffer.from(body.toString().replace('100', '101')), headers)).toBe(400);
      expect(await statusOf(Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 1)), headers)).toBe(400);
    });

    test('rejects a timestamp other than the signed one', async () => {
      const body = eventOf('G');
      const headers = { ...signed(body), 'x-generate-timestamp': secondsFromNow(1).toISOString() };
      expect(await statusOf(body, headers)).toBe(400);
    });

    test('rejects timestamps more than five minutes off, and accepts others', async () => {
      const body = eventOf('H');
      expect(await statusOf(body, signed(body, secret, secondsFromNow(-600)))).toBe(400);
      expect(await statusOf(body, signed(body, secret, secondsFromNow(600)))).toBe(400);
      expect(await statusOf(body, signed(body, secret, secondsFromNow(-120)))).toBe(204);
    });

    test('rejects a delivery without its headers, or with a bare digest', async () => {
      const body = eventOf('I');
      const headers = signed(body);
      expect(await statusOf(body, {})).toBe(400);
      expect(await statusOf(body, { 'x-generate-timestamp': headers['x-generate-timestamp'] })).toBe(400);
      expect(await statusOf(body, { 'x-generate-signature': headers['x-generate-signature'] })).toBe(400);
      const bare = headers['x-generate-signature'].replace('sha256=', '');
      expect(await statusOf(body, { ...headers, 'x-generate-signature': bare })).toBe(400);
    });
  });
}
