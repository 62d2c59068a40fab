import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/kit.js';
import { InputStore } from './store.js';

test('a stored photo reads back as it was, until it is removed', async () => {
  const inputs = new InputStore(temporaryFolder());
  await inputs.put('job', Buffer.from('photo'));
  expect(Buffer.from(await inputs.read('job')).toString()).toBe('photo');
  await inputs.remove('job');
  await inputs.remove('job');
  expect(readdirSync(inputs.folder)).toEqual([]);
});

test('a sweep removes old files that no open job needs, half-written ones too', async () => {
  const inputs = new InputStore(temporaryFolder());
  for (const name of ['open', 'finished', 'young', '.open.1a2b3c']) await inputs.put(name, Buffer.from('photo'));
  for (const name of ['open', 'finished', '.open.1a2b3c']) utimesSync(join(inputs.folder, name), 1, 1);
  await inputs.sweep(2_000, async (jobId) => jobId === 'open');
  expect(readdirSync(inputs.folder).sort()).toEqual(['open', 'young']);
});
