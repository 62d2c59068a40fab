import { errorMessage } from './base/errors.js';

/** A package with a native addon: its version, or why it cannot be loaded and what to do. */
export type NativePart = { readonly name: string } & ({ readonly version: string } | { readonly problem: string });

/** Loads each native part of the engine. */
export const inspectNativeParts = (): Promise<NativePart[]> =>
  Promise.all([
    inspect('sharp', async () => {
      const { sharp } = await import('./base/sharp.js');
      return `${sharp.versions.sharp}, libvips ${sharp.versions.vips}`;
    }),
    inspect('onnxruntime', async () => (await import('./network/onnxruntime.js')).env.versions.node ?? 'unknown'),
  ]);

const inspect = (name: string, load: () => Promise<string>): Promise<NativePart> =>
  load().then(
    (version) => ({ name, version }),
    (error: unknown) => ({ name, problem: errorMessage(error) }),
  );
