import { loadPackage } from './optional-package.js';

/** The layout of pixels that are not in a file format. */
export interface RawPixels {
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
}

/** Declares the functions of sharp that are used here. */
interface SharpImage {
  metadata(): Promise<{ hasAlpha?: boolean; depth: string }>;
  rotate(): SharpImage;
  resize(options: { width: number; height: number; fit: 'inside'; withoutEnlargement: true }): SharpImage;
  clone(): SharpImage;
  webp(options: { quality: number }): SharpImage;
  jpeg(options: { quality: number }): SharpImage;
  toBuffer(): Promise<Uint8Array>;
}

/** The function that the package `sharp` exports. */
export type Sharp = (bytes: Uint8Array, options: { failOn: 'error'; raw?: RawPixels }) => SharpImage;

/** @throws {Error} if sharp is not installed, or cannot be loaded */
export const loadSharp = (): Promise<Sharp> =>
  loadPackage<Sharp>('sharp', 'npm install sharp, and libheif-js for HEIC; in a bundle, pass new Gen3d({ sharp })');
