/**
 * The environment for processes that decode images sent by strangers: without gen3d's own settings, which hold the server
 * key and the first API key. A runner gets the settings it needs over IPC.
 */
export const withoutSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.toUpperCase().startsWith('GEN3D_')));
