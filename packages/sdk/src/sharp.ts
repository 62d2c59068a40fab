/** Declares the functions of sharp that are used here. */
interface SharpImage {
  metadata(): Promise<{ hasAlpha?: boolean }>;
  rotate(): SharpImage;
  removeAlpha(): SharpImage;
  extract(area: { left: number; top: number; width: number; height: number }): SharpImage;
  resize(options: { width: number; height: number; fit: 'inside'; withoutEnlargement: true }): SharpImage;
  clone(): SharpImage;
  webp(options: { quality: number }): SharpImage;
  jpeg(options: { quality: number }): SharpImage;
  toBuffer(): Promise<Uint8Array<ArrayBuffer>>;
}
export type Sharp = (
  bytes: Uint8Array,
  options: { failOn: 'error' } | { raw: { width: number; height: number; channels: 4 } },
) => SharpImage;

/** Loads sharp, if the package is installed. */
export async function loadSharp(): Promise<Sharp | undefined> {
  // A variable, because bundlers fail on a literal that they cannot resolve, and must not bundle a native module.
  const name = 'sharp';
  try {
    const module: { default: Sharp } = await import(/* webpackIgnore: true */ /* @vite-ignore */ name);
    return module.default;
  } catch {
    return undefined;
  }
}
