import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit.js';
import { findSandbox } from './sandbox.js';

/** Sets the variable PATH until the end of the test. */
function setPath(folder: string): void {
  const { PATH } = process.env;
  process.env.PATH = folder;
  onTestFinished(() => {
    process.env.PATH = PATH;
  });
}

test.runIf(process.platform === 'linux')(
  'the sandbox is missing without bubblewrap, but not if the operator turned it off',
  async () => {
    setPath(temporaryFolder());
    expect(await findSandbox('auto')).toEqual({
      isMissing: true,
      text: expect.stringContaining('bubblewrap is not installed'),
    });
    expect(await findSandbox('off')).toMatchObject({ isMissing: false });
  },
);

test.runIf(process.platform === 'linux')(
  'a sandbox that cannot start is missing, and the text has its output instead of its command',
  async () => {
    const folder = temporaryFolder();
    const script = '#!/bin/sh\necho "setting up uid map: Permission denied" >&2\nexit 126\n';
    writeFileSync(join(folder, 'bwrap'), script, { mode: 0o755 });
    setPath(folder);
    expect(await findSandbox('auto')).toEqual({
      isMissing: true,
      text:
        'images are decoded without a sandbox: bubblewrap cannot start a decoder ' +
        '(setting up uid map: Permission denied). docs/operations/deployment.md says what it needs',
    });
  },
);
