import { errorMessage, NativePartError } from './errors.js';

/**
 * Loads a package with a native addon.
 *
 * @throws {NativePartError} if it cannot be loaded; the message says why, and what to do
 */
export function loadNativePart<T>(name: string, load: () => T): T {
  try {
    return load();
  } catch (cause) {
    throw new NativePartError(`${name} cannot be loaded: ${loadProblem(name, cause)}`, { cause });
  }
}

/** Explains in one or two sentences why the part could not be loaded, and what to do. */
export function loadProblem(name: string, cause: unknown, { platform, arch, version } = process): string {
  const message = errorMessage(cause);
  if (message.includes('NODE_MODULE_VERSION')) {
    return `it was built for another version of Node than ${version}. Run \`npm rebuild ${name}\` with this version`;
  }
  if (message.includes('ld-linux')) {
    return 'it needs the GNU C library, which Alpine Linux lacks. Use another distribution, such as Debian or Ubuntu';
  }
  if (platform === 'win32' && cause instanceof Error && 'code' in cause && cause.code === 'ERR_DLOPEN_FAILED') {
    return `Windows cannot load its library (${firstLine(message)}). Install the latest Microsoft Visual C++ Redistributable`;
  }
  return `its library for ${platform} ${arch} is missing or damaged (${firstLine(message)}). Install gen3d again on this machine, with optional dependencies`;
}

const firstLine = (text: string) => text.trim().split('\n')[0];
