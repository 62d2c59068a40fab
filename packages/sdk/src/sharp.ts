import { loadPackage } from './optional-package.js';

/** Declares the functions of sharp that are used here. */
interface SharpImage {
  metadata(): Promise<{ hasAlpha?: boolean; depth: string }>;
  rotate(): SharpImage;
  resize(options: { width: number; height: number; fit: 'inside'; withoutEnlargement: true }): SharpImage;
  recomb(matrix: number[][]): SharpImage;
  clone(): SharpImage;
  toFormat(format: 'jpeg' | 'webp', options: { quality: number }): SharpImage;
  toBuffer(): Promise<Uint8Array>;
}

/** The function that the package `sharp` exports. */
export type Sharp = (
  bytes: Uint8Array | Uint8ClampedArray,
  options: { failOn: 'error'; raw?: { width: number; height: number; channels: 4 } },
) => SharpImage;

/** @throws {Error} if sharp is not installed, or cannot be loaded */
export const loadSharp = (): Promise<Sharp> =>
  loadPackage<Sharp>('sharp', 'npm install sharp, and heic-decode for HEIC; in a bundle, pass new Gen3d({ sharp })');
