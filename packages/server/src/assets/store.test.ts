import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/kit.js';
import { newUlid } from '../ids.js';
import { AssetStore, type Outcome } from './store.js';

const model = Buffer.from('glTF');
const thumbnail = Buffer.from('jpeg');

function emptyStore() {
  const store = new AssetStore(temporaryFolder());
  const has = (key: string) => existsSync(join(store.folder, key));
  const unsettled = () => readdirSync(join(store.folder, '.unsettled'));
  return { store, has, unsettled };
}

describe('an attempt', () => {
  test('that lost the job removes what it stored, and nothing of the attempt that won', async () => {
    const { store, has, unsettled } = emptyStore();
    const job = newUlid();
    const loser = await store.put(job, model, thumbnail);
    const winner = await store.put(job, model, thumbnail);
    await store.keep(winner);
    await store.discard(loser);
    expect([winner.modelKey, winner.thumbnailKey].map(has)).toEqual([true, true]);
    expect([loser.modelKey, loser.thumbnailKey].map(has)).toEqual([false, false]);
    expect(unsettled()).toEqual([]);
  });
});

describe('the sweep', () => {
  const later = () => Date.now() + 60_000;

  test('removes what is not recorded with a finished job, and keeps what is', async () => {
    const { store, has, unsettled } = emptyStore();
    const [done, failed] = [newUlid(), newUlid()];
    const crashed = await store.put(done, model, thumbnail);
    const recorded = await store.put(done, model, thumbnail);
    const useless = await store.put(failed, model, thumbnail);
    const outcomes: Record<string, Outcome> = {
      [done]: { finished: true, modelKey: recorded.modelKey },
      [failed]: { finished: true, modelKey: null },
    };
    await store.sweep(later(), async (id) => outcomes[id]);
    expect([crashed, recorded, useless].map(({ modelKey }) => has(modelKey))).toEqual([false, true, false]);
    expect(unsettled()).toEqual([]);
  });

  test('leaves alone what is young, what may still be recorded, and what a deleted record may have named', async () => {
    const { store, has, unsettled } = emptyStore();
    const [open, deleted] = [newUlid(), newUlid()];
    const running = await store.put(open, model, thumbnail);
    const old = await store.put(deleted, model, thumbnail);
    const outcomeOf = async (id: string) => (id === open ? { finished: false, modelKey: null } : undefined);
    await store.sweep(Date.now() - 60_000, async () => ({ finished: true, modelKey: null }));
    expect(unsettled()).toHaveLength(2);
    await store.sweep(later(), outcomeOf);
    expect([running, old].map(({ modelKey }) => has(modelKey))).toEqual([true, true]);
    expect(unsettled()).toHaveLength(1);
  });

  test('finds nothing in a folder where nothing was ever stored', async () => {
    await emptyStore().store.sweep(later(), async () => undefined);
  });
});
