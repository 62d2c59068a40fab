import * as z from 'zod/mini';

/** An account's balance in USD (docs/contract.md section 2.3). `rates` are in USD per second of inference. */
export const Balance = z.object({
  balance_usd: z.number(),
  min_balance_usd: z.number(),
  rates: z.record(z.string(), z.number()).check(z.describe('USD per second of inference, by serving instance.')),
});
export type Balance = z.infer<typeof Balance>;
