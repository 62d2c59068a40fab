/**
 * Removes the settings of gen3d, which include the server key and the first API key, from the environment of processes
 * that handle untrusted data. These processes get the settings they need over IPC.
 */
export const withoutSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.toUpperCase().startsWith('GEN3D_')));

/** Node and libvips need these variables. All others are left out, because they may hold secrets. */
const passedVariables = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TMP', 'TEMP', 'SystemRoot', 'LD_LIBRARY_PATH'];

/** Returns the environment of processes that read files of others and need no secrets. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  const entries = passedVariables.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
