import { z } from 'zod';

/** The balance object (API.md section 2.3); `rates` maps a serving-instance key to USD per second of inference. */
export const Balance = z.object({
  balance_usd: z.number(),
  min_balance_usd: z.number(),
  rates: z.record(z.string(), z.number()),
});
export type Balance = z.infer<typeof Balance>;
