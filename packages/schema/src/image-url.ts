import { z } from 'zod';
import { limits } from './limits.js';

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

function problemOf(value: string): string | undefined {
  if (/^data:/i.test(value)) {
    const parsed = parseImageDataUri(value);
    return 'problem' in parsed ? parsed.problem : undefined;
  }
  if (!URL.canParse(value)) return 'must be an http(s) URL or an image data URI';
  const { protocol } = new URL(value);
  return protocol === 'http:' || protocol === 'https:'
    ? undefined
    : `has the scheme ${protocol} but must be http(s) or an image data URI`;
}

/** One entry of `input.image_urls`: an http(s) URL of at most 25 MiB, or a data URI of at most 4 MiB decoded. */
export const ImageUrl = z.string().superRefine((value, context) => {
  const problem = problemOf(value);
  if (problem) context.addIssue({ code: 'custom', message: problem });
});
