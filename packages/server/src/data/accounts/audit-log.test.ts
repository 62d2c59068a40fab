import { expect, test } from 'vitest';
import { temporaryDatabase } from '../../../test/kit.js';
import { audit, limitAudit, listAudit } from './audit-log.js';

test('only the newest entries of the audit log are kept', async () => {
  const db = await temporaryDatabase();
  for (const subject of ['a', 'b', 'c', 'd']) {
    await audit(db, { who: 'test', action: 'job delete', subject }, 0);
  }
  await limitAudit(db, 4);
  await limitAudit(db, 3);
  await limitAudit(db, 3);
  expect((await listAudit(db)).map(({ subject }) => subject)).toEqual(['d', 'c', 'b']);
});
