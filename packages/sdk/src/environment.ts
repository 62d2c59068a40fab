interface FileSystem {
  stat(path: string | URL): Promise<{ size: number; isFile(): boolean }>;
  readFile(path: string | URL): Promise<Uint8Array>;
}

interface Process {
  env?: Record<string, string | undefined>;
  getBuiltinModule?(id: 'node:fs/promises'): FileSystem | undefined;
}

// Read at each use: bundlers and test runners may provide `process` late.
const currentProcess = () => (globalThis as { process?: Process }).process;

/** An environment variable, where there are any; an empty one counts as unset. */
export const variable = (name: string): string | undefined => currentProcess()?.env?.[name] || undefined;

/**
 * Node's file functions in Node, Bun and Deno; undefined in browsers and at the edge.
 *
 * Not an `import()`: even a dynamic one of `node:fs` makes bundlers for browsers stop.
 */
export const fileSystem = (): FileSystem | undefined => currentProcess()?.getBuiltinModule?.('node:fs/promises');
