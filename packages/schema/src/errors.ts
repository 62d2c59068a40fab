import { z } from 'zod';

/** `error.code` of a refused request (API.md section 7). Clients match on the code; messages may be reworded. */
export const ErrorCode = z.enum([
  'invalid_request',
  'invalid_cursor',
  'insufficient_balance',
  'not_found',
  'not_configured',
  'internal_error',
]);
export type ErrorCode = z.infer<typeof ErrorCode>;

/** `error.code` inside a FAILED job. The contract leaves the set open; this is gen3d's. */
export const TaskErrorCode = z.enum([
  'unsupported_type',
  'image_fetch_failed',
  'image_too_large',
  'image_invalid',
  'no_foreground',
  'inference_failed',
  'internal_error',
]);
export type TaskErrorCode = z.infer<typeof TaskErrorCode>;

/** The standard error body. `code` stays an open string: a client must survive a server newer than itself. */
export const ErrorBody = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
export type ErrorBody = z.infer<typeof ErrorBody>;

/** The body of 402: the standard one with both figures beside it. */
export const InsufficientBalanceBody = ErrorBody.extend({ balance_usd: z.number(), min_balance_usd: z.number() });
export type InsufficientBalanceBody = z.infer<typeof InsufficientBalanceBody>;

/** The gateway's bodies, which are not the standard shape (API.md section 5, rule 3, and section 7). */
export const forbiddenBody = { message: 'Forbidden' } as const;
export const tooManyRequestsBody = { message: 'Too Many Requests' } as const;
