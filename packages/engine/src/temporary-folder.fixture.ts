import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Registers a cleanup function, such as `onTestFinished`. */
export type AtEnd = (cleanup: () => void | Promise<void>) => void;

/** A folder that is removed after the test. Outside a test, pass `afterAll`. */
export function temporaryFolder(atEnd: AtEnd = onTestFinished, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'gen3d-test-'));
  // The children of a killed server may still write for a moment.
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  return folder;
}
