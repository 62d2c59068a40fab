import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { bareEnvironment } from '../../base/environment.js';
import type { Config } from '../../config.js';

/**
 * Runs a module in the sandbox. The process needs a session of its own: it keeps Ctrl-C from bubblewrap, which would
 * end on it and take the decoder along, and the terminal from the decoder, which could type into it.
 */
export interface Sandbox {
  /** The program and its arguments, to which the path of the module and its arguments are added. */
  readonly command: readonly string[];
}

const { resolve } = createRequire(import.meta.url);

/**
 * Makes the kernel end the decoder first when memory is short, and gives the server precedence. Linux shares the CPU
 * among sessions first, so without this, each decoder would get as much as the whole server, whatever its niceness. In
 * the sandbox, no file can set either.
 */
const startBubblewrap =
  '{ echo 1000 >/proc/self/oom_score_adj; echo 10 >/proc/self/autogroup; } 2>/dev/null; exec bwrap "$@"';
const notFoundStatus = 127;
const probeMs = 60_000;

/** Lists Node, the folders of the libraries that it loaded, the packages a decoder imports, and their dependencies. */
function readablePaths(): string[] {
  const { report } = process;
  // Otherwise, a report looks up the names of all connected hosts.
  Object.assign(report, { excludeNetwork: true });
  const { sharedObjects } = report.getReport() as unknown as { sharedObjects: string[] };
  const libraries = sharedObjects.filter((path) => path.startsWith('/')).map(dirname);
  const packages = ['server', 'engine', 'schema'].map((name) => dirname(resolve(`@gen3d/${name}/package.json`)));
  const dependencies = packages.flatMap(
    (folder) => createRequire(join(folder, 'index.js')).resolve.paths('sharp') ?? [],
  );
  return [...new Set([...libraries, '/etc/ld.so.cache', process.execPath, ...packages, ...dependencies])];
}

/**
 * Runs a decoder in bubblewrap, as GNOME's image loaders do. If an image takes the decoder over, it finds no files but
 * the code of Node and gen3d, which it cannot change, no other processes, and no network. There is no /proc either:
 * containers and hardened systemd units do not allow new ones, but all the rest.
 */
const bubblewrap = (): Sandbox => ({
  command: [
    ...['/bin/sh', '-c', startBubblewrap, 'sh', '--unshare-all', '--die-with-parent', '--cap-drop', 'ALL'],
    ...readablePaths().flatMap((path) => ['--ro-bind-try', path, path]),
    ...['--remount-ro', '/', '--chdir', '/', '--', process.execPath],
  ],
});

/** Returns why a decoder cannot run in the sandbox, or undefined if it can. */
export async function sandboxProblem({ command }: Sandbox): Promise<string | undefined> {
  const [file = '', ...args] = command;
  const load = `import(${JSON.stringify(pathToFileURL(resolve('@gen3d/engine/images')))})`;
  try {
    await promisify(execFile)(file, [...args, '-e', load], { env: bareEnvironment(), timeout: probeMs });
    return undefined;
  } catch (error) {
    const { code, stderr = '', message } = error as Error & { code?: number; stderr?: string };
    if (code === notFoundStatus) return 'bubblewrap is not installed. Install the package bubblewrap of your system';
    // The message repeats the whole command, which can fill a screen.
    const lastLine = stderr.trim().split('\n').at(-1);
    const reason = /^bwrap: .*|^\w*Error.*/m.exec(stderr)?.[0] ?? (lastLine || message);
    return `bubblewrap cannot start a decoder (${reason}). docs/operations/deployment.md says what it needs`;
  }
}

/** The sandbox for decoders, if there is one, and a sentence about it for the operator. */
export interface FoundSandbox {
  readonly sandbox?: Sandbox;
  /** True if the sandbox is missing, was not turned off, and could be installed on this system. */
  readonly isMissing: boolean;
  readonly text: string;
}

/** Finds out whether images can be decoded in a sandbox, by starting one. */
export async function findSandbox(setting: Config['decoderSandbox']): Promise<FoundSandbox> {
  const without = (why: string, isMissing = false) => ({
    isMissing,
    text: `images are decoded without a sandbox: ${why}`,
  });
  if (setting === 'off') return without('--decoder-sandbox is off');
  if (process.platform !== 'linux') return without('bubblewrap exists only for Linux');
  const sandbox = bubblewrap();
  const problem = await sandboxProblem(sandbox);
  if (problem !== undefined) return without(problem, true);
  return { sandbox, isMissing: false, text: 'images are decoded in a sandbox, bubblewrap' };
}
