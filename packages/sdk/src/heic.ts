import { loadPackage } from './optional-package.js';
import type { Sharp } from './sharp.js';

interface Failure {
  readonly code: unknown;
  readonly message: string;
}
interface Decoded {
  /** Interleaved RGBA; `stride` is the number of bytes per row. */
  readonly channels: readonly { width: number; height: number; stride: number; data: Uint8Array }[];
  readonly image: number;
}
type Context = { readonly context: unique symbol };
type Handle = { readonly handle: unique symbol };

/** Declares the functions of libheif that are used here. */
export interface Libheif {
  readonly heif_error_code: { readonly heif_error_Ok: unknown };
  readonly heif_colorspace: { readonly heif_colorspace_RGB: unknown };
  readonly heif_chroma: { readonly heif_chroma_interleaved_RGBA: unknown };
  heif_context_alloc(): Context;
  heif_context_read_from_memory(context: Context, bytes: Uint8Array): Failure;
  heif_context_free(context: Context): void;
  heif_js_context_get_primary_image_handle(context: Context): Handle | Failure;
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
 * Converts a HEIC or HEIF photo to an upright JPEG, with the photo's color profile.
 *
 * @throws {Error} with libheif's message, if the photo cannot be decoded
 */
export async function heicToJpeg(
  libheif: Libheif,
  sharp: Sharp,
  heic: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const context = libheif.heif_context_alloc();
  try {
    const read = libheif.heif_context_read_from_memory(context, heic);
    if (read.code !== libheif.heif_error_code.heif_error_Ok) throw new Error(read.message);
    const handle = libheif.heif_js_context_get_primary_image_handle(context);
    if ('message' in handle) throw new Error(handle.message);
    try {
      const { heif_colorspace_RGB: rgb } = libheif.heif_colorspace;
      const { heif_chroma_interleaved_RGBA: rgba } = libheif.heif_chroma;
      // Also rotates and mirrors the photo as its container says.
      const decoded = await libheif.heif_js_decode_image2(handle, rgb, rgba);
      if ('message' in decoded) throw new Error(decoded.message);
      const [pixels] = decoded.channels;
      if (pixels === undefined) throw new Error('The photo has no pixels');
      const { width, height, stride } = pixels;
      // A copy, because the decoder reuses its memory. A row may have padding.
      const rows = pixels.data.slice();
      libheif.heif_image_release(decoded.image);
      const image = sharp(rows, { raw: { width: stride / 4, height, channels: 4 } });
      const jpeg = await image
        .extract({ left: 0, top: 0, width, height })
        .removeAlpha()
        .jpeg({ quality: 95 })
        .toBuffer();
      return withColorProfile(new Uint8Array(jpeg), colorProfileOf(heic));
    } finally {
      libheif.heif_image_handle_release(handle);
    }
  } finally {
    libheif.heif_context_free(context);
  }
}

const latin1 = (bytes: Uint8Array) => new TextDecoder('latin1').decode(bytes);

/** Returns the ICC profile in the container's `colr` box, such as Display P3. libheif does not apply it. */
function colorProfileOf(heic: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const text = latin1(heic);
  for (const type of ['colrprof', 'colrrICC']) {
    const at = text.indexOf(type);
    if (at < 4) continue;
    const boxSize = new DataView(heic.buffer, heic.byteOffset).getUint32(at - 4);
    const profile = heic.slice(at + 8, at - 4 + boxSize);
    if (latin1(profile.subarray(36, 40)) === 'acsp') return profile;
  }
  return undefined;
}

/** How much of a profile fits in a JPEG segment, after the segment's length field and the 14 bytes that precede it. */
const maxProfilePart = 65_535 - 2 - 14;

/** Adds a profile to a JPEG. @see ICC.1:2022, annex B.4 */
async function withColorProfile(
  jpeg: Uint8Array<ArrayBuffer>,
  profile: Uint8Array<ArrayBuffer> | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  if (profile === undefined) return jpeg;
  const count = Math.ceil(profile.length / maxProfilePart);
  const segments = Array.from({ length: count }, (_, index) => {
    const part = profile.subarray(index * maxProfilePart, (index + 1) * maxProfilePart);
    const length = 2 + 14 + part.length;
    const header = new Uint8Array([0xff, 0xe2, length >> 8, length & 0xff]);
    return new Blob([header, 'ICC_PROFILE\0', new Uint8Array([index + 1, count]), part]);
  });
  return new Uint8Array(await new Blob([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]).arrayBuffer());
}
