import { limits } from './limits.js';

/** Images inside a request may have these media types (docs/contract.md section 4.1). */
export const inlineImageTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;

const dataUri = /^data:(image\/(?:png|jpeg|webp));base64,/;

/** Computes the decoded size of padded base64, in bytes. */
const decodedBytes = (base64: string) =>
  (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);

/** Splits an inline image into its media type and base64 text. `problem` completes a sentence about the data URI. */
export function parseImageDataUri(
  uri: string,
): { mediaType: string; base64: string; byteLength: number } | { problem: string } {
  const [prefix, mediaType] = dataUri.exec(uri) ?? [];
  if (prefix === undefined || mediaType === undefined) {
    const problem = /^data:image\/jpg[;,]/i.test(uri)
      ? 'has the media type image/jpg. Write image/jpeg'
      : 'must have the form data:image/(png|jpeg|webp);base64,<data>';
    return { problem };
  }
  const base64 = uri.slice(prefix.length);
  // Checked without decoding, to avoid allocating memory for an image that is refused.
  if (base64.length === 0 || base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) {
    if (/\s/.test(base64))
      return { problem: 'contains white space. Write its base64 on one line, as `base64 -w0` does' };
    if (/[-_]/.test(base64)) return { problem: 'is base64url. Write + and / instead of - and _' };
    return { problem: 'does not contain valid base64' };
  }
  const byteLength = decodedBytes(base64);
  if (byteLength > limits.inlineImageBytes) {
    return {
      problem: `contains ${byteLength} bytes, more than the limit of ${limits.inlineImageBytes} (4 MiB) for inline images. Send a URL instead`,
    };
  }
  return { mediaType, base64, byteLength };
}
