import type { Sharp } from 'sharp';

/** In pixels. The server scales photos down to this size. */
const maxSide = 2_048;

/**
 * Converts a HEIC or HEIF photo to an upright JPEG of at most 2048 pixels a side, with the photo's color profile.
 *
 * libheif is loaded only here. It is under the LGPL, so it stays a separate package that users can replace.
 * @throws {Error} with libheif's message, if the photo cannot be decoded
 */
export async function heicToJpeg(heic: Uint8Array): Promise<Uint8Array> {
  const [{ default: libheif }, { default: sharp }] = await Promise.all([
    import('libheif-js/wasm-bundle.js'),
    import('sharp'),
  ]);
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
      const rows = Buffer.from(pixels.data);
      libheif.heif_image_release(decoded.image);
      const raw = { width: stride / 4, height, channels: 4 } as const;
      const jpeg = await encode(sharp(rows, { raw }).extract({ left: 0, top: 0, width, height }));
      return withColorProfile(jpeg, colorProfileOf(heic));
    } finally {
      libheif.heif_image_handle_release(handle);
    }
  } finally {
    libheif.heif_context_free(context);
  }
}

const encode = (image: Sharp): Promise<Buffer> =>
  image
    .removeAlpha()
    .resize({ width: maxSide, height: maxSide, fit: 'inside', withoutEnlargement: true })
    .jpeg({ quality: 95 })
    .toBuffer();

/** The ICC profile in the container's `colr` box, such as Display P3. libheif does not apply it. */
function colorProfileOf(heic: Uint8Array): Buffer | undefined {
  const file = Buffer.from(heic.buffer, heic.byteOffset, heic.byteLength);
  for (const type of ['colrprof', 'colrrICC']) {
    const at = file.indexOf(type, 0, 'latin1');
    if (at < 4) continue;
    const profile = file.subarray(at + 8, at - 4 + file.readUInt32BE(at - 4));
    if (profile.toString('latin1', 36, 40) === 'acsp') return profile;
  }
  return undefined;
}

/** The maximum of a JPEG's segment, without its length and the 14 bytes before the part of the profile. */
const maxProfilePart = 65_535 - 2 - 14;

/** Adds a profile to a JPEG. @see ICC.1:2022, annex B.4 */
function withColorProfile(jpeg: Buffer, profile: Buffer | undefined): Uint8Array {
  if (profile === undefined) return jpeg;
  const count = Math.ceil(profile.length / maxProfilePart);
  const segments = Array.from({ length: count }, (_, index) => {
    const part = profile.subarray(index * maxProfilePart, (index + 1) * maxProfilePart);
    const length = 2 + 14 + part.length;
    const header = Buffer.from([0xff, 0xe2, length >> 8, length & 0xff]);
    return Buffer.concat([header, Buffer.from('ICC_PROFILE\0', 'latin1'), Buffer.from([index + 1, count]), part]);
  });
  return Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]);
}
