import { createRequire } from 'node:module';

/** gen3d's version. By package name, so that it is found from the built package and from the sources alike. */
export const { version } = createRequire(import.meta.url)('@gen3d/server/package.json') as { version: string };
