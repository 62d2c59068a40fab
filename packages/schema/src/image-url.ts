import { z } from 'zod';
import { parseImageDataUri } from './image-data-uri.js';
import { isWellFormed, notWellFormed, quoted } from './text.js';

/** Longest URL of an image, in characters: room for any signed URL. A data URI has its own limit. */
const maxUrlLength = 8_192;

function problemOf(value: string): string | undefined {
  if (/^data:/i.test(value)) {
    const parsed = parseImageDataUri(value);
    return 'problem' in parsed ? parsed.problem : undefined;
  }
  if (value.length > maxUrlLength) {
    return `is longer than ${maxUrlLength.toLocaleString('en')} characters; send a shorter URL or an image data URI`;
  }
  if (!isWellFormed(value)) return notWellFormed;
  if (!URL.canParse(value)) return 'must be an http(s) URL or an image data URI';
  const { protocol } = new URL(value);
  return protocol === 'http:' || protocol === 'https:'
    ? undefined
    : `has the scheme ${quoted(protocol)} but must be http(s) or an image data URI`;
}

/** One entry of `input.image_urls`: an http(s) URL of at most 25 MiB, or a data URI of at most 4 MiB decoded. */
export const ImageUrl = z.string().superRefine((value, context) => {
  const problem = problemOf(value);
  if (problem) context.addIssue({ code: 'custom', message: problem });
});
