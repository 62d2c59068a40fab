import { expect, test } from 'vitest';
import { NativePartError } from './errors.js';
import { loadNativePart, loadProblem } from './native-part.js';

const dlopenFailed = (message: string) => Object.assign(new Error(message), { code: 'ERR_DLOPEN_FAILED' });
const on = (platform: NodeJS.Platform, arch: NodeJS.Architecture = 'x64') =>
  ({ platform, arch, version: 'v22.16.0' }) as typeof process;

test.each<[string, Error, typeof process, string]>([
  [
    'an addon for another version of Node',
    dlopenFailed(
      "The module '/a.node'\nwas compiled against a different Node.js version using\nNODE_MODULE_VERSION 115.",
    ),
    on('linux'),
    'it was built for another version of Node than v22.16.0. Run `npm rebuild part` with this version',
  ],
  [
    'Alpine Linux',
    dlopenFailed('Error loading shared library ld-linux-x86-64.so.2: No such file or directory (needed by /a.node)'),
    on('linux'),
    'it needs the GNU C library, which Alpine Linux lacks. Use another distribution, such as Debian or Ubuntu',
  ],
  [
    'Windows without the runtime of Visual C++',
    dlopenFailed('The specified module could not be found.\n\\\\?\\C:\\a.node'),
    on('win32'),
    'Windows cannot load its library (The specified module could not be found.). Install the latest Microsoft Visual C++ Redistributable',
  ],
  [
    'a platform without a binary',
    Object.assign(new Error("Cannot find module '../bin/darwin/x64/a.node'\nRequire stack:\n- /b.js"), {
      code: 'MODULE_NOT_FOUND',
    }),
    on('darwin'),
    "its library for darwin x64 is missing or damaged (Cannot find module '../bin/darwin/x64/a.node'). Install gen3d again on this machine, with optional dependencies",
  ],
])('the message names the fix: %s', (_, cause, system, expected) => {
  expect(loadProblem('part', cause, system)).toBe(expected);
});

test('a part that cannot be loaded throws a NativePartError with its cause', () => {
  const cause = dlopenFailed('NODE_MODULE_VERSION 115');
  const load = () =>
    loadNativePart('part', () => {
      throw cause;
    });
  expect(load).toThrow(NativePartError);
  expect(load).toThrow(expect.objectContaining({ cause }));
  expect(loadNativePart('part', () => 7)).toBe(7);
});
