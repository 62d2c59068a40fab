export const mebibyte = 1024 ** 2;

/** Every limit of the contract (docs/contract.md section 8). Names without a unit of time or size are counts. */
export const limits = {
  requestsPerSecond: 50,
  requestBurst: 100,
  imageUrls: 1,
  remoteImageBytes: 25 * mebibyte,
  inlineImageBytes: 4 * mebibyte,
  bodyBytes: 8 * mebibyte,
  idempotencyKeyLength: { min: 1, max: 256 },
  pageSize: { min: 1, max: 100, default: 20 },
  minBalanceUsd: 1,
  webhookTimeoutMs: 10_000,
  webhookRetries: 5,
  deadLetterDays: 14,
  taskRetentionDays: 90,
  /** Clients should pause this long between two requests for an unfinished job. */
  pollMs: { min: 2_000, max: 5_000 },
} as const;
