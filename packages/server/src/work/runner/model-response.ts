import { oneLine, quoted } from '@gen3d/schema';
import { z } from 'zod';

/** A response with the model in base64, or with its URL. */
export const ModelResponse = z.object({
  data: z.tuple([z.object({ b64_json: z.string().nullish(), url: z.string().nullish() })]).rest(z.unknown()),
});

const ErrorResponse = z.union([
  z.object({ error: z.string() }).transform(({ error }) => error),
  z.object({ error: z.object({ message: z.string() }) }).transform(({ error }) => error.message),
  z.object({ detail: z.string() }).transform(({ detail }) => detail),
]);

export function parseJson<T>(schema: z.ZodType<T>, bytes: Buffer): T | undefined {
  try {
    return schema.safeParse(JSON.parse(bytes.toString())).data;
  } catch {
    return undefined;
  }
}

/** Describes an error response in one line, with the server's own words if it has some. */
export function describeError(status: number, body: Buffer): string {
  const words = oneLine(parseJson(ErrorResponse, body) ?? '');
  return `HTTP ${status}${words === '' ? '' : `, ${quoted(words)}`}`;
}
