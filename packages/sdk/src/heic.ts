import { loadPackage } from './optional-package.js';

interface Failure {
  readonly code: unknown;
  readonly message: string;
}
interface Decoded {
  /** Interleaved RGB or RGBA; `stride` is the number of bytes per row. */
  readonly channels: readonly { width: number; height: number; stride: number; data: Uint8Array }[];
  readonly image: number;
}
type Context = { readonly context: unique symbol };
type Handle = { readonly handle: unique symbol };

/** Declares the functions of libheif that are used here. */
export interface Libheif {
  readonly heif_error_code: { readonly heif_error_Ok: unknown };
  readonly heif_colorspace: { readonly heif_colorspace_RGB: unknown };
  readonly heif_chroma: {
    readonly heif_chroma_interleaved_RGB: unknown;
    readonly heif_chroma_interleaved_RGBA: unknown;
  };
  heif_context_alloc(): Context;
  heif_context_read_from_memory(context: Context, bytes: Uint8Array): Failure;
  heif_context_free(context: Context): void;
  heif_js_context_get_primary_image_handle(context: Context): Handle | Failure;
  /** 1 or 0. */
  heif_image_handle_has_alpha_channel(handle: Handle): number;
  heif_js_decode_image2(
    handle: Handle,
    colorspace: unknown,
    chroma: unknown,
  ): Decoded | Failure | Promise<Decoded | Failure>;
  heif_image_release(image: number): void;
  heif_image_handle_release(handle: Handle): void;
}

/** Loads libheif, if it is installed. It is under the LGPL, so it stays a separate package that users can replace. */
export const loadLibheif = (): Promise<Libheif | undefined> => loadPackage<Libheif>('libheif-js/wasm-bundle.js');

/**
 * Converts a HEIC or HEIF photo to an upright TIFF, with the photo's transparency and color profile.
 *
 * @throws {Error} with libheif's message, if the photo cannot be decoded
 */
export async function heicToTiff(libheif: Libheif, heic: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const context = libheif.heif_context_alloc();
  try {
    const read = libheif.heif_context_read_from_memory(context, heic);
    if (read.code !== libheif.heif_error_code.heif_error_Ok) throw new Error(read.message);
    const handle = libheif.heif_js_context_get_primary_image_handle(context);
    if ('message' in handle) throw new Error(handle.message);
    try {
      const channels = libheif.heif_image_handle_has_alpha_channel(handle) ? 4 : 3;
      const { heif_chroma_interleaved_RGB: rgb, heif_chroma_interleaved_RGBA: rgba } = libheif.heif_chroma;
      const colorspace = libheif.heif_colorspace.heif_colorspace_RGB;
      // Also rotates and mirrors the photo as its container says.
      const decoded = await libheif.heif_js_decode_image2(handle, colorspace, channels === 4 ? rgba : rgb);
      if ('message' in decoded) throw new Error(decoded.message);
      const [pixels] = decoded.channels;
      if (pixels === undefined) throw new Error('The photo has no pixels');
      const tiff = tiffOf({ ...pixels, channels, profile: colorProfileOf(heic) });
      libheif.heif_image_release(decoded.image);
      return tiff;
    } finally {
      libheif.heif_image_handle_release(handle);
    }
  } finally {
    libheif.heif_context_free(context);
  }
}

const latin1 = (bytes: Uint8Array) => new TextDecoder('latin1').decode(bytes);

/** Returns the ICC profile in the container's `colr` box, such as Display P3. libheif does not apply it. */
function colorProfileOf(heic: Uint8Array): Uint8Array {
  const text = latin1(heic);
  for (const type of ['colrprof', 'colrrICC']) {
    const at = text.indexOf(type);
    if (at < 4) continue;
    const boxSize = new DataView(heic.buffer, heic.byteOffset).getUint32(at - 4);
    const profile = heic.subarray(at + 8, at - 4 + boxSize);
    if (latin1(profile.subarray(36, 40)) === 'acsp') return profile;
  }
  return new Uint8Array();
}

interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
  readonly stride: number;
  readonly data: Uint8Array;
  /** Empty if there is none. */
  readonly profile: Uint8Array;
}

/** Writes an uncompressed TIFF, the simplest format with a color profile. @see TIFF 6.0, section 2 */
function tiffOf({ width, height, channels, stride, data, profile }: Pixels): Uint8Array<ArrayBuffer> {
  const [short, long, undefinedType] = [3, 4, 7];
  const bitsAt = 200; // after the directory
  const profileAt = bitsAt + 8;
  const pixelsAt = profileAt + profile.length;
  const rowBytes = width * channels;
  const fields = [
    [256, long, 1, width],
    [257, long, 1, height],
    [258, short, channels, bitsAt],
    [259, short, 1, 1], // not compressed
    [262, short, 1, 2], // RGB
    [273, long, 1, pixelsAt],
    [277, short, 1, channels],
    [278, long, 1, height], // in one strip
    [279, long, 1, rowBytes * height],
    ...(channels === 4 ? [[338, short, 1, 2]] : []), // alpha, not premultiplied
    ...(profile.length > 0 ? [[34_675, undefinedType, profile.length, profileAt]] : []),
  ] as [tag: number, type: number, count: number, value: number][];
  const tiff = new Uint8Array(pixelsAt + rowBytes * height);
  tiff.set([0x49, 0x49, 42, 0, 8, 0, 0, 0, fields.length, 0]);
  const view = new DataView(tiff.buffer);
  fields.forEach(([tag, type, count, value], index) => {
    view.setUint16(10 + 12 * index, tag, true);
    view.setUint16(12 + 12 * index, type, true);
    view.setUint32(14 + 12 * index, count, true);
    view.setUint32(18 + 12 * index, value, true);
  });
  tiff.set([8, 0, 8, 0, 8, 0, 8, 0], bitsAt);
  tiff.set(profile, profileAt);
  for (let y = 0; y < height; y++) tiff.set(data.subarray(y * stride, y * stride + rowBytes), pixelsAt + y * rowBytes);
  return tiff;
}
