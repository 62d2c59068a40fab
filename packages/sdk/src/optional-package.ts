import { fileSystem } from './environment.js';
import { codeOf, messageOf } from './realms.js';

/** A package is installed but does not work here. The message says why. */
export class PackageLoadError extends Error {
  override readonly name = 'PackageLoadError';
}

/**
 * Loads a package that users may install.
 *
 * @param specifier a variable at every call, because bundlers fail on a literal that they cannot resolve
 * @returns undefined if it is not installed
 * @throws {PackageLoadError} if it is installed but cannot be loaded, such as the build of another platform
 */
export async function loadPackage<T>(specifier: string): Promise<T | undefined> {
  // Browsers have no packages, only modules that a bundler put there.
  if (!fileSystem()) return undefined;
  const [name = specifier] = specifier.split('/');
  try {
    const module: { default: T } = await import(/* webpackIgnore: true */ /* @vite-ignore */ specifier);
    return module.default;
  } catch (cause) {
    // A module that a package needs may be missing, too. Then the package itself is installed.
    const isMissing = /MODULE_NOT_FOUND$/.test(codeOf(cause) ?? '') && messageOf(cause).includes(`'${specifier}'`);
    const isMissingPackage = isMissing || messageOf(cause).includes(`package '${name}'`);
    if (isMissingPackage) return undefined;
    // The second line of sharp's message says why. In other messages, it begins a list, such as `Require stack:`.
    const [what = '', why = ':'] = messageOf(cause).trim().split('\n');
    const reason = (why.endsWith(':') ? what : `${what}: ${why}`).replace(/[:.]$/, '');
    throw new PackageLoadError(`${name} is installed but cannot be loaded: ${reason}`, { cause });
  }
}
