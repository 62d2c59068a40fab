const MIB = 1024 * 1024;

/** Every limit of the contract (API.md section 8). Sizes in bytes, times in milliseconds unless the name says otherwise. */
export const limits = {
  requestsPerSecond: 50,
  requestBurst: 100,
  imageUrls: 1,
  remoteImageBytes: 25 * MIB,
  inlineImageBytes: 4 * MIB,
  idempotencyKeyLength: { min: 1, max: 256 },
  pageSize: { min: 1, max: 100, default: 20 },
  minBalanceUsd: 1,
  webhookTimeoutMs: 10_000,
  webhookRetries: 5,
  deadLetterDays: 14,
  taskRetentionDays: 90,
  /** Suggested pause between two reads of a running job. */
  pollMs: { min: 2_000, max: 5_000 },
} as const;
