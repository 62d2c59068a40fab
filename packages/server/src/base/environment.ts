/**
 * Removes the settings of gen3d, which include the server key and the first API key, from the environment of processes
 * that handle untrusted data. These processes get the settings they need over IPC.
 */
export const withoutSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.toUpperCase().startsWith('GEN3D_')));
