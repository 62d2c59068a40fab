import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit.js';
import { findSandbox } from './sandbox.js';

test.runIf(process.platform === 'linux')(
  'the sandbox is missing without bubblewrap, but not if the operator turned it off',
  async () => {
    const { PATH } = process.env;
    process.env.PATH = temporaryFolder();
    onTestFinished(() => {
      process.env.PATH = PATH;
    });
    expect(await findSandbox('auto')).toEqual({
      isMissing: true,
      text: expect.stringContaining('bubblewrap is not installed'),
    });
    expect(await findSandbox('off')).toMatchObject({ isMissing: false });
  },
);
