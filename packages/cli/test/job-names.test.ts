// @module-tag slow
import { writeFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { hasScript, onTerminal } from './pseudo-terminal.js';
import { bin, discPng, outputMatching, testFolder } from './run.js';

const { begin, gen3d, path, serve } = testFolder();

beforeAll(async () => {
  // Without a runner, jobs stay PENDING.
  await serve('--workers', '0');
});

const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await gen3d([...args, '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
};

/** Creates jobs for photos with these names. Returns their ids in the order of the names. */
async function create(...names: string[]): Promise<string[]> {
  for (const name of names) await writeFile(path(name), discPng());
  return (await gen3d(['create', ...names])).stdout.trimEnd().split('\n');
}

const labels = ({ jobs }: { jobs: { label: string }[] }) => jobs.map(({ label }) => label);

test('several photos are queued in the order of the arguments, although a large one takes longer to read', async () => {
  // More than the 4 MiB that fit into a request.
  await writeFile(path('order 1.png'), discPng(1_200, 400, 0));
  for (const name of ['order 2.png', 'order 3.png']) await writeFile(path(name), discPng());
  await gen3d(['create', 'order 1.png', 'order 2.png', 'order 3.png']);
  const created = await json('list', '--search', 'order');
  expect(labels(created)).toEqual(['order 3.png', 'order 2.png', 'order 1.png']);
});

test('list, or `ls`, shows names, searches them, and prints the command for the next page', async () => {
  await create('red mug.png', 'Blue MUG.png');
  expect((await gen3d(['list', '--search', 'mug'])).stdout).toMatch(
    /^\S+ {2}PENDING .* Blue MUG\.png\n.* red mug\.png\n$/,
  );
  const { stdout, stderr } = await gen3d(['list', '--search', 'mug', '--limit', '1']);
  expect(stdout).toContain('Blue MUG.png');
  const [, command = ''] = /^Next page: gen3d (list --search mug --limit 1 --cursor \S+)\n$/.exec(stderr) ?? [];
  expect((await gen3d(command.split(' '))).stdout).toContain('red mug.png');
  expect(labels(await json('ls', '--search', 'mug', '-n', '1'))).toEqual(['Blue MUG.png']);
});

test('a unique prefix of an id, in any case, selects the job', async () => {
  const [id = ''] = await create('bowl.png');
  expect(await gen3d(['get', id.slice(0, 25).toLowerCase()])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(`^job +${id}\nname +bowl\\.png\n`),
  });
});

test('a prefix of several ids exits with 2 and lists them, and a prefix of none exits with 1', async () => {
  const ids = await create('vase.png', 'lamp.png');
  const several = await gen3d(['get', ids[0]!.slice(0, 2)]);
  expect(several.stderr).toMatch(/^error: Several job ids start with \w\w\. Add characters to choose one:\n/);
  expect(several.stderr).toContain(`\n  ${ids[1]}  PENDING  lamp.png\n  ${ids[0]}  PENDING  vase.png\n`);
  const none = await gen3d(['cancel', ids[0]!, '7ZZZ']);
  expect(none.stderr).toMatch(/^error: Job 7ZZZ does not exist in this account\. `gen3d list`/);
  expect([several.code, none.code]).toEqual([2, 1]);
  // All ids are checked before the first job is canceled.
  expect(await json('get', ids[0]!)).toMatchObject({ status: 'PENDING' });
});

test('list takes a status in lower case', async () => {
  const [id = ''] = await create('pot.png');
  await gen3d(['cancel', id]);
  const { jobs } = await json('list', '--status', 'canceled');
  expect(jobs).toContainEqual(expect.objectContaining({ task_id: id, status: 'CANCELED' }));
});

test('cancel ends waiting jobs, and retry creates a job with the same photo and name', async () => {
  const ids = await create('cup.png', 'hat.png');
  const canceled = await gen3d(['cancel', ...ids]);
  expect(canceled).toEqual({ code: 0, stdout: '', stderr: 'Canceled cup.png\nCanceled hat.png\n' });
  const again = await gen3d(['cancel', ids[0]!]);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be canceled') });
  expect(again.stderr).toContain(`error: cup.png (${ids[0]}): The job`);
  const [waitingId = ''] = await create('jar.png');
  const several = await gen3d(['cancel', ids[0]!, waitingId]);
  expect(several).toEqual({
    code: 1,
    stdout: '',
    stderr: `✖ cup.png (${ids[0]}): The job is finished, and cannot be canceled\nCanceled jar.png\n`,
  });

  const { code, stdout, stderr } = await gen3d(['retry', ids[1]!, ids[1]!.toLowerCase()]);
  expect(stderr).toMatch(/^Trying hat\.png again\. To wait for the model: gen3d get \S+ --wait\n$/);
  expect(code).toBe(0);
  expect(await json('get', stdout.trim())).toMatchObject({ label: 'hat.png', status: 'PENDING' });
  const waiting = await gen3d(['retry', stdout.trim()]);
  expect(waiting).toMatchObject({ code: 1, stderr: expect.stringContaining('The job is not finished') });
});

test('delete removes jobs at once in a pipe, and `rm` is another name for it', async () => {
  const ids = await create('old.png', 'older.png', 'oldest.png');
  expect(await gen3d(['delete', ids[0]!, ids[1]!])).toEqual({
    code: 0,
    stdout: '',
    stderr: 'Deleted old.png\nDeleted older.png\n',
  });
  expect(await json('rm', ids[2]!)).toEqual({ job_id: ids[2] });
  for (const id of ids) expect((await gen3d(['get', id])).stderr).toContain(`Job ${id} does not exist`);
});

test.skipIf(!hasScript)('on a terminal, delete asks first, and --yes does not', async () => {
  const [id = ''] = await create('doubt.png');
  const onTty = (...args: string[]) => begin(onTerminal([process.execPath, bin, ...args]), {}, 'script');
  for (const key of ['n\r', '\x04', '\x03']) {
    const { child, ended } = onTty('delete', id);
    await outputMatching(child, /Delete doubt\.png for good\? \[y\/N\] /);
    child.stdin.write(key);
    expect((await ended).code).toBe(key === '\x03' ? 130 : 1);
  }
  expect(await json('get', id)).toMatchObject({ status: 'PENDING' });
  const { child: confirmed, ended } = onTty('delete', id);
  await outputMatching(confirmed, /\[y\/N\] /);
  confirmed.stdin.write('y\r');
  expect(await ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Deleted doubt.png') });
  const [other = ''] = await create('sure.png');
  expect(await onTty('delete', other, '--yes').ended).toMatchObject({ code: 0 });
});
