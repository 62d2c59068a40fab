// Requests use all of zod, whose messages tell a client which field is wrong.
import { z } from 'zod';
import { inlineImageTypes, parseImageDataUri } from './image-data-uri.js';
import { jobType } from './lifecycle.js';
import { limits, mebibyte } from './limits.js';
import { JobStatus } from './task.js';
import { characterCount, isStorable, notStorable, quoted } from './text.js';
import type { ViewSide } from './view-side.js';

/**
 * The maximum length of an image's URL in bytes of UTF-8: twice that of long signed URLs. Longer URLs, in as many open
 * jobs as an account may have, would make a database grow by tens of megabytes. Data URIs have their own limit.
 */
const maxUrlBytes = 4_096;

function problemOf(value: string): string | undefined {
  if (/^data:/i.test(value)) {
    const parsed = parseImageDataUri(value);
    return 'problem' in parsed ? parsed.problem : undefined;
  }
  if (value.length > maxUrlBytes || new TextEncoder().encode(value).length > maxUrlBytes) {
    return `is longer than ${maxUrlBytes.toLocaleString('en')} bytes. Send a shorter URL or an image data URI`;
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

/** Photos of other sides of the object, which the contract does not have. Other names are refused. */
const Views = z
  .strictObject({ left: ImageUrl.optional(), back: ImageUrl.optional(), right: ImageUrl.optional() } satisfies Record<
    ViewSide,
    unknown
  >)
  .meta({
    description: `Photos of other sides of the same object (gen3d's own). left is taken from where the left edge of the front photo is.`,
  });

/** The `input` of an image-to-3d job. */
export const ImageTo3dInput = z.object({
  image_urls: z.array(ImageUrl).length(limits.imageUrls, `must contain exactly ${limits.imageUrls} image`),
  views: Views.optional(),
});
export type ImageTo3dInput = z.infer<typeof ImageTo3dInput>;

const { min: minKeyLength, max: maxKeyLength } = limits.idempotencyKeyLength;

/** Length is counted in characters (code points): 256 emoji fit as well as 256 letters. */
export const IdempotencyKey = z
  .string()
  .refine((key) => key.length >= minKeyLength && (key.length <= maxKeyLength || fitsInCharacters(key)), {
    error: `must have ${minKeyLength} to ${maxKeyLength} characters`,
  })
  .refine(isStorable, notStorable)
  .meta({ minLength: minKeyLength, maxLength: maxKeyLength });

/** Counts the characters only of keys that may fit. A code point has at most two UTF-16 units. */
const fitsInCharacters = (key: string) => key.length <= 2 * maxKeyLength && characterCount(key) <= maxKeyLength;

/** Fields of the body of `POST /v1/jobs` that every job type has. */
const jobRequestFields = {
  options: z
    .unknown()
    .optional()
    .describe('Accepted whatever it holds. Options have an effect only if the bundle of the server lists them.'),
  idempotency_key: IdempotencyKey.optional().describe(
    'Repeating a key returns the original job instead of creating another one',
  ),
};

export const ImageTo3dRequest = z.object({ type: z.literal(jobType), input: ImageTo3dInput, ...jobRequestFields });
export type ImageTo3dRequest = z.infer<typeof ImageTo3dRequest>;

/**
 * A job of a reserved type. Any input is accepted, and the job fails during processing (docs/contract.md section 4.1).
 */
export const ReservedTypeRequest = z.object({
  type: z
    .string()
    .refine((type) => type !== jobType)
    .refine(isStorable, notStorable)
    .meta({ not: { const: jobType } }),
  input: z.record(z.string(), z.unknown()),
  ...jobRequestFields,
});

export type CreateJobRequest = ImageTo3dRequest | z.infer<typeof ReservedTypeRequest>;
export const isImageTo3d = (request: CreateJobRequest): request is ImageTo3dRequest => request.type === jobType;

const typeOf = z.object({ type: z.string() });

/** Parses the body of `POST /v1/jobs`. The path of each issue names the invalid field. */
export function parseCreateJobRequest(body: unknown): z.ZodSafeParseResult<CreateJobRequest> {
  const type = typeOf.safeParse(body);
  // A union would report the issues of both branches. Choosing the branch first gives one message per mistake.
  if (!type.success || type.data.type === jobType) return ImageTo3dRequest.safeParse(body);
  return ReservedTypeRequest.safeParse(body);
}

const pageSizeRule = `must be a whole number from ${limits.pageSize.min} to ${limits.pageSize.max}`;

/** Describes the query of `GET /v1/jobs`, in which numbers are text. */
export const ListJobsQuery = z.object({
  status: z.optional(JobStatus),
  limit: z
    .string(pageSizeRule)
    .regex(/^\d{1,9}$/, pageSizeRule)
    .transform(Number)
    .pipe(z.number().min(limits.pageSize.min, pageSizeRule).max(limits.pageSize.max, pageSizeRule))
    .default(limits.pageSize.default),
  cursor: z.string().optional(),
});
export type ListJobsQuery = z.infer<typeof ListJobsQuery>;
