import { oneLine } from '@gen3d/schema';
import { z } from 'zod';

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

/** Returns what an error response says, in one line. Empty if it has no words in one of the usual forms. */
export const errorWords = (body: Buffer): string => oneLine(parseJson(ErrorResponse, body) ?? '');
