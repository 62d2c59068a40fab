import { fileSystem } from './environment.js';
import { messageOf } from './realms.js';

/**
 * Loads a package that users may install.
 *
 * @param name a variable in `import`, because bundlers fail on a literal that they cannot resolve
 * @throws {Error} if it is not installed, or cannot be loaded, such as the build of another platform
 */
export async function loadPackage<T>(name: string, remedy: string): Promise<T> {
  // Browsers have no packages, only modules that a bundler put there.
  if (!fileSystem()) throw new Error(`it needs the package ${name}, which cannot be loaded on this platform`);
  try {
    const module: { default: T } = await import(/* webpackIgnore: true */ /* @vite-ignore */ name);
    return module.default;
  } catch (cause) {
    // The second line of sharp's message says why. Other messages have `Require stack:` or `Did you mean ...?` there.
    const lines = messageOf(cause).split('\n').slice(0, 2);
    const reason = lines.filter((line) => !/[:?]$/.test(line)).join(': ');
    throw new Error(`it needs the package ${name} (${remedy}). ${reason}`, { cause });
  }
}
