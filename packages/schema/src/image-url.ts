import { z } from 'zod';
import { inlineImageTypes, parseImageDataUri } from './image-data-uri.js';
import { limits, mebibyte } from './limits.js';
import { isStorable, notStorable, quoted } from './text.js';

/** An image's URL may have this many characters, enough for signed URLs. Data URIs have their own limit. */
const maxUrlLength = 8_192;

function problemOf(value: string): string | undefined {
  if (/^data:/i.test(value)) {
    const parsed = parseImageDataUri(value);
    return 'problem' in parsed ? parsed.problem : undefined;
  }
  if (value.length > maxUrlLength) {
    return `is longer than ${maxUrlLength.toLocaleString('en')} characters. Send a shorter URL or an image data URI`;
  }
  if (!isStorable(value)) return notStorable;
  if (!URL.canParse(value)) return 'must be an http(s) URL or an image data URI';
  const { protocol } = new URL(value);
  return protocol === 'http:' || protocol === 'https:'
    ? undefined
    : `has the scheme ${quoted(protocol)} but must be an http(s) URL or an image data URI`;
}

/** An entry of `input.image_urls`. */
export const ImageUrl = z
  .string()
  .superRefine((value, context) => {
    const problem = problemOf(value);
    if (problem) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({
    description: `An http(s) URL of an image up to ${limits.remoteImageBytes / mebibyte} MiB, which the server fetches, or a base64 data URI (${inlineImageTypes.join(', ')}) up to ${limits.inlineImageBytes / mebibyte} MiB decoded.`,
    examples: ['https://example.com/mug.jpg'],
  });
