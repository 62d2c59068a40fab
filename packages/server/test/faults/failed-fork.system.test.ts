import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { ballPhoto } from '../ball-photo.js';
import { createJob, finishedJob, imageJob, startServer, until } from '../kit.js';
import { killPid } from './server-process.js';

/** Sets the program that `fork` runs. */
function breakFork(execPath: string): () => void {
  const { execPath: real } = process;
  const restore = () => {
    process.execPath = real;
  };
  onTestFinished(restore);
  process.execPath = execPath;
  return restore;
}

async function start() {
  const entries: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line: string) => entries.push(JSON.parse(line)) });
  const server = await startServer({ workers: 1 }, { log });
  const logged = (message: string) => entries.filter(({ msg }) => msg === message);
  const killRunner = () => expect(killPid(Number(logged('runner is ready').at(-1)?.pid))).toBe(true);
  return { server, logged, killRunner };
}

// Node emits an event for the first error, and throws the second.
const failures = [
  ['ENOENT', '/no/such/program'],
  ['ENOTDIR', '/dev/null/program'],
] as const;

test.each(failures)(
  'a runner whose fork fails with %s is started again after increasing pauses, until it works',
  async (code, program) => {
    const { server, logged, killRunner } = await start();
    const restore = breakFork(program);
    killRunner();
    const crashes = await until(async () => logged('runner crashed').length >= 3 && logged('runner crashed'));
    expect(crashes.slice(0, 3).map(({ restartMs }) => restartMs)).toEqual([250, 500, 1_000]);
    expect(crashes[1]!.problem).toContain(code);
    restore();
    const body = imageJob(ballPhoto(160, 0.1));
    const job_id = await createJob(server.call, body);
    const finished = await finishedJob(server.call, job_id);
    expect(finished.status).toBe('SUCCEEDED');
  },
);

test.each(failures)('a server without runners because fork fails with %s still shuts down', async (_, program) => {
  const { server, logged, killRunner } = await start();
  breakFork(program);
  killRunner();
  await until(async () => logged('runner crashed').length >= 2);
  await server.close();
});

test.each(failures)('a server whose first fork fails with %s reports it and does not start', async (code, program) => {
  breakFork(program);
  await expect(start()).rejects.toThrow(new RegExp(`the runner process cannot be started: .*${code}`));
});
