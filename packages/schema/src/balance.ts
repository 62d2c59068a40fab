import { z } from 'zod';

/**
 * The balance object (docs/contract.md section 2.3). `rates` maps the key of a serving instance to USD per second of
 * inference.
 */
export const Balance = z.object({
  balance_usd: z.number(),
  min_balance_usd: z.number(),
  rates: z.record(z.string(), z.number()),
});
export type Balance = z.infer<typeof Balance>;
