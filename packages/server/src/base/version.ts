import { createRequire } from 'node:module';

/** gen3d's version. The package's name finds it from the built package and from the sources. */
export const { version } = createRequire(import.meta.url)('@gen3d/server/package.json') as { version: string };
