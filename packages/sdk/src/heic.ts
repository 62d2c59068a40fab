import { loadPackage } from './optional-package.js';
import type { RawPixels } from './sharp.js';

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

/**
 * Declares the functions of libheif that are used here. Its class `HeifDecoder` is shorter, but prints failures to
 * stdout.
 */
interface Libheif {
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

/**
 * Decodes a HEIC or HEIF photo to upright sRGB pixels, with its transparency. libheif is under the LGPL, so it stays a
 * separate package that users can replace.
 *
 * @throws {Error} with libheif's message, if the photo cannot be decoded
 */
export async function decodeHeic(heic: Uint8Array): Promise<{ data: Uint8Array; raw: RawPixels }> {
  const libheif = await loadPackage<Libheif>('libheif-js/wasm-bundle.js', 'npm install libheif-js');
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
      const { width, height, stride } = pixels;
      const rowBytes = width * channels;
      const data = new Uint8Array(rowBytes * height);
      for (let y = 0; y < height; y++) data.set(pixels.data.subarray(y * stride, y * stride + rowBytes), y * rowBytes);
      libheif.heif_image_release(decoded.image);
      if (isDisplayP3(heic)) convertDisplayP3(data, channels);
      return { data, raw: { width, height, channels } };
    } finally {
      libheif.heif_image_handle_release(handle);
    }
  } finally {
    libheif.heif_context_free(context);
  }
}

/** Whether the color profile in the container is Display P3, which iPhones use. Its name is UTF-16. */
function isDisplayP3(heic: Uint8Array): boolean {
  const header = new TextDecoder('latin1').decode(heic.subarray(0, 2 ** 16));
  const at = header.indexOf('colrprof');
  return at >= 0 && header.slice(at, at + 2 ** 12).includes('P\0' + '3');
}

/** Converts the colors to sRGB in place. Display P3 has the curve of sRGB, and wider primaries. @see CSS Color 4 */
function convertDisplayP3(data: Uint8Array, channels: number): void {
  const linear = Float32Array.from({ length: 256 }, (_, value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const encoded = Uint8Array.from({ length: 4_097 }, (_, value) => {
    const share = value / 4_096;
    return Math.round(255 * (share <= 0.0031308 ? 12.92 * share : 1.055 * share ** (1 / 2.4) - 0.055));
  });
  const encode = (share: number) => encoded[Math.round(4_096 * Math.min(1, Math.max(0, share)))]!;
  for (let i = 0; i < data.length; i += channels) {
    const [red, green, blue] = [linear[data[i]!]!, linear[data[i + 1]!]!, linear[data[i + 2]!]!];
    data[i] = encode(1.22494 * red - 0.22494 * green);
    data[i + 1] = encode(-0.04206 * red + 1.04206 * green);
    data[i + 2] = encode(-0.01964 * red - 0.07864 * green + 1.09827 * blue);
  }
}
