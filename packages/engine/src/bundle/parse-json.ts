import { z } from 'zod';
import { BundleError } from '../base/errors.js';

/**
 * Reads a JSON text as what a schema describes.
 *
 * @param origin the path or address it came from, and `what` it should be ("a manifest"), for the error
 * @throws {BundleError} naming the field that is wrong
 */
export function parseJson<T>(schema: z.ZodType<T>, text: string, origin: string, what: string): T {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new BundleError(`${origin} is not valid JSON`, { cause });
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw new BundleError(`${origin} is not ${what}:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
