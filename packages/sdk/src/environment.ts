import { trimmed } from '@gen3d/schema/rules';

interface FileSystem {
  stat(path: string | URL): Promise<{ size: number; isFile(): boolean }>;
  readFile(path: string | URL): Promise<Uint8Array>;
}

interface Process {
  env?: Record<string, string | undefined>;
  getBuiltinModule?(id: 'node:fs/promises'): FileSystem | undefined;
}

// Read on each use, because bundlers and test runners may define `process` late.
const currentProcess = () => (globalThis as { process?: Process }).process;

/** Reads an environment variable. Undefined if it is unset or empty, or if the platform has none. */
export const variable = (name: string): string | undefined => trimmed(currentProcess()?.env?.[name] ?? '') || undefined;

/**
 * Returns the file functions of Node, Bun and Deno, or undefined in browsers and on edge platforms.
 *
 * Bundlers for browsers fail on any import of `node:fs`, even a dynamic one.
 */
export const fileSystem = (): FileSystem | undefined => currentProcess()?.getBuiltinModule?.('node:fs/promises');
