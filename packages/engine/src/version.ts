import { createRequire } from 'node:module';

/** The version of @gen3d/engine, which every file it makes names as its generator. */
export const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
