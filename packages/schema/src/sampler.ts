/** Request header of `POST /v1/jobs` with the job's sampler settings, such as `seed=7&steps=50` (docs/job-list.md). */
export const samplerHeader = 'x-gen3d-sampler';

/** Request header of `POST /gen3d/jobs/ID/retry` with an idempotency key (docs/job-list.md). */
export const repeatKeyHeader = 'idempotency-key';

/** Settings of a network that makes a model in steps from noise. */
export interface SamplerSettings {
  /** Another seed makes another model of the same photo. 0 to 4,294,967,295. */
  readonly seed?: number;
  /** More steps take longer in proportion. 1 to 100. */
  readonly steps?: number;
}

export const samplerLimits = { seed: { min: 0, max: 0xffffffff }, steps: { min: 1, max: 100 } } as const;

type Setting = keyof typeof samplerLimits;

/** Checks a setting given as text. Returns the number, or a sentence that says what is wrong. */
export function readSetting(name: string, text: string): number | string {
  if (!Object.hasOwn(samplerLimits, name)) return `"${name}" is not a setting: use seed and steps`;
  const { min, max } = samplerLimits[name as Setting];
  const value = Number(text);
  const isValid = /^\d+$/.test(text) && value >= min && value <= max;
  return isValid ? value : `${name} must be an integer from ${min} to ${max}, not ${JSON.stringify(text)}`;
}

/**
 * Encodes the settings for the header. Returns undefined if there are none.
 * @throws {RangeError} if a setting is out of range
 */
export function encodeSampler(settings: SamplerSettings): string | undefined {
  const given = Object.entries(settings);
  for (const [name, value] of given) {
    const problem = readSetting(name, String(value));
    if (typeof problem === 'string') throw new RangeError(problem);
  }
  return given.map(([name, value]) => `${name}=${value}`).join('&') || undefined;
}

/** Reads the settings in a header's value. Returns a sentence that says what is wrong if they are invalid. */
export function readSampler(header: string): SamplerSettings | string {
  const settings: Partial<Record<string, number>> = {};
  for (const [name, text] of new URLSearchParams(header)) {
    const value = readSetting(name, text);
    if (typeof value === 'string') return value;
    settings[name] = value;
  }
  return settings;
}
