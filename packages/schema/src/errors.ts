import * as z from 'zod/mini';

/** `error.code` of a failed request (docs/contract.md section 7). Clients match on the code; messages may change. */
export const ErrorCode = z.enum([
  'invalid_request',
  'invalid_cursor',
  'insufficient_balance',
  'not_found',
  'not_configured',
  'quota_exceeded',
  'internal_error',
]);
export type ErrorCode = z.infer<typeof ErrorCode>;

/** `error.code` of a FAILED job. The contract leaves the set open; these are gen3d's codes. */
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

/** The standard error body. `code` is any string, because a newer server may add codes. */
export const ErrorBody = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
export type ErrorBody = z.infer<typeof ErrorBody>;

/** The body of a 402 response: the standard error body, plus both amounts. */
export const InsufficientBalanceBody = z.extend(ErrorBody, { balance_usd: z.number(), min_balance_usd: z.number() });
export type InsufficientBalanceBody = z.infer<typeof InsufficientBalanceBody>;

/** Error bodies of the gateway, which do not have the standard shape (docs/contract.md sections 5.3 and 7). */
export const forbiddenBody = { message: 'Forbidden' } as const;
export const tooManyRequestsBody = { message: 'Too Many Requests' } as const;
