import { limits } from './limits.js';

/** The media types an inline image may have (API.md section 4.1). */
export const inlineImageTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;

const dataUri = /^data:(image\/(?:png|jpeg|webp));base64,/;

/** Size in bytes of canonical base64 once decoded. */
const decodedBytes = (base64: string) =>
  (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);

/** Splits an inline image into its type and its base64 text, or says what is wrong with it. */
export function parseImageDataUri(
  uri: string,
): { mediaType: string; base64: string; byteLength: number } | { problem: string } {
  const [prefix, mediaType] = dataUri.exec(uri) ?? [];
  if (prefix === undefined || mediaType === undefined) {
    return { problem: 'must be a data URI of the form data:image/(png|jpeg|webp);base64,<data>' };
  }
  const base64 = uri.slice(prefix.length);
  // Length and alphabet are checked before anything is decoded: no allocation for what will be refused.
  if (base64.length === 0 || base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) {
    return { problem: 'holds no valid base64 data' };
  }
  const byteLength = decodedBytes(base64);
  if (byteLength > limits.inlineImageBytes) {
    return {
      problem: `holds ${byteLength} bytes; an inline image may have ${limits.inlineImageBytes} (4 MiB). Send a URL instead`,
    };
  }
  return { mediaType, base64, byteLength };
}
