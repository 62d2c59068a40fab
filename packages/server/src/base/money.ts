/** Whole millionths of a US dollar, because sums of floats would drift. */
export type MicroUsd = number;

/** The largest balance, credit or rate that can be entered. */
export const maxUsd = 1_000_000;

export const toMicroUsd = (usd: number): MicroUsd => Math.round(usd * 1_000_000);
export const toUsd = (amount: MicroUsd): number => amount / 1_000_000;

/** Computes the price of `inferenceMs` milliseconds at a rate in USD per second, rounded to a millionth of a dollar. */
export const priceOf = (inferenceMs: number, rateUsdPerSecond: number): MicroUsd =>
  toMicroUsd((inferenceMs / 1_000) * rateUsdPerSecond);
