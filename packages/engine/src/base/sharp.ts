import { createRequire } from 'node:module';
import type Sharp from 'sharp';
import { loadNativePart } from './native-part.js';

const require = createRequire(import.meta.url);

/** Loads the image library. The engine loads it only here, where a failure is explained. */
export const sharp = loadNativePart('sharp', () => require('sharp') as typeof Sharp);
