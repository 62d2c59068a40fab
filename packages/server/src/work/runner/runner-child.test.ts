import { fileURLToPath } from 'node:url';
import { ExitError } from '@gen3d/rpc';
import { expect, onTestFinished, test } from 'vitest';
import { ballPixels } from '../../../test/ball-photo.js';
import { WrongResultError } from '../stage-failures.js';
import { RunnerChild } from './runner-child.js';

// A photo may have taken a runner over, so its results are as hostile as the photo.

const file = fileURLToPath(new URL('../../../test/hostile-runner.cjs', import.meta.url));

const photos = [{ side: 'front', image: ballPixels() }] as const;

function start(act: string, { limitMs = 60_000, silentMs = 60_000 } = {}) {
  const child = new RunnerChild({ limitMs, silentMs, onFellBack: () => {}, file });
  onTestFinished(() => child.kill());
  const opened = child.open({ bundle: act, matte: 'isnet', device: 'cpu', modelDirs: [], pipelines: 1 });
  return { child, opened };
}

test('a model that can be one is accepted, without what a caller did not ask for', async () => {
  const { child, opened } = start('a model');
  expect(await opened).toEqual({ provider: 'cpu', rejected: [] });
  const { glb, stats } = await child.generate(photos, {});
  expect(glb).toHaveLength(24);
  expect(stats).toEqual({ bundle: 'ball', warnings: [], stageMs: { matte: 1 } });
});

test.each([
  'nothing',
  'another file',
  'half a model',
  'a model of more than its chunks',
  'a text for a thumbnail',
  'an SVG for a thumbnail',
  'an unknown stage',
  'an unknown warning',
  'a long name',
  'more time than has passed',
  'a negative time',
])('a runner that returns a wrong result is ended: %s', async (act) => {
  const { child, opened } = start(act);
  await opened;
  await expect(child.generate(photos, {})).rejects.toBeInstanceOf(WrongResultError);
  expect(await child.ended).toMatchObject({ signal: 'SIGKILL' });
});

test('a runner with wrong progress is ended', async () => {
  const { child, opened } = start('wrong progress');
  await opened;
  await expect(child.generate(photos, {})).rejects.toBeInstanceOf(ExitError);
});

test('a runner without a device is refused', async () => {
  await expect(start('no device').opened).rejects.toBeInstanceOf(WrongResultError);
});

test('an inference over its time limit ends the runner, and waiting for the device extends the limit', async () => {
  const waiting = start('waiting', { limitMs: 500 });
  await waiting.opened;
  expect((await waiting.child.generate(photos, {})).glb).toHaveLength(24);
  const hanging = start('nothing at all', { limitMs: 500 });
  await hanging.opened;
  await expect(hanging.child.generate(photos, {})).rejects.toMatchObject({ timedOut: true });
});

test('a runner that does not respond any longer is ended', async () => {
  const { child, opened } = start('silence', { silentMs: 500 });
  await opened;
  expect(await child.ended).toMatchObject({ timedOut: true, message: expect.stringContaining('did not respond') });
});
