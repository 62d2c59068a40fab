import { expect, test } from 'vitest';
import { silent } from '../test/kit.js';
import { Parts } from './parts.js';

test('parts are stopped once, in reverse order, each after the one that needs it', async () => {
  const events: string[] = [];
  const part = (name: string) => ({
    async stop(graceMs: number) {
      events.push(`${name} stops within ${graceMs}`);
      await new Promise(setImmediate);
      events.push(`${name} stopped`);
    },
  });
  const parts = new Parts(silent);
  await parts.start(part('database'));
  await parts.start(Promise.resolve(part('server')));
  await expect(parts.start(Promise.reject(new Error('no port')))).rejects.toThrow('no port');
  await parts.stop({ graceMs: 5 });
  await parts.stop({ graceMs: 5 });
  expect(events).toEqual(['server stops within 5', 'server stopped', 'database stops within 5', 'database stopped']);
});
