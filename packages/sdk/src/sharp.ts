import { InvalidRequestError } from './errors.js';
import { loadPackage } from './optional-package.js';

/** Declares the functions of sharp that are used here. */
interface SharpImage {
  metadata(): Promise<{ width: number; height: number; hasAlpha?: boolean; pages?: number | undefined; depth: string }>;
  rotate(): SharpImage;
  resize(options: { width: number; height: number; fit: 'inside'; withoutEnlargement: true }): SharpImage;
  clone(): SharpImage;
  webp(options: { quality: number }): SharpImage;
  jpeg(options: { quality: number }): SharpImage;
  toBuffer(): Promise<Uint8Array>;
}

/** The function that the package `sharp` exports. */
export type Sharp = (bytes: Uint8Array, options: { failOn: 'error'; page: number }) => SharpImage;

/** Loads sharp. @returns undefined if it is not installed @throws {PackageLoadError} if it cannot be loaded */
export const loadSharp = (): Promise<Sharp | undefined> => loadPackage<Sharp>('sharp');

/** @throws {InvalidRequestError} for anything but the package's function, such as its namespace or a mock */
export function requireSharp(sharp: Sharp | undefined): Sharp | undefined {
  if (sharp === undefined || typeof sharp === 'function') return sharp;
  const remedy = "Pass the function: import sharp from 'sharp', then new Gen3d({ sharp })";
  throw new InvalidRequestError('invalid_request', `sharp is not the function that the package exports. ${remedy}`);
}
