/**
 * Options of a job that its bundle may pass on to a model server. The contract accepts `options` whatever it holds, so
 * everything else is left out, and what is stored has a limit.
 */
export type JobOptions = Readonly<Record<string, string | number | boolean>>;

const maxOptions = 16;
const maxTextLength = 256;
/** Of all options together, as JSON in UTF-8. A failed job costs nothing, and keeps them for a retry. */
const maxBytes = 1_024;

/** Returns the first options of a request that can be passed on, within the limits, as JSON. Null if there are none. */
export function storedOptions(options: unknown): string | null {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return null;
  const kept = Object.entries(options)
    .filter(([name, value]) => /^\w{1,64}$/.test(name) && isOption(value))
    .slice(0, maxOptions);
  for (; kept.length > 0; kept.pop()) {
    const json = JSON.stringify(Object.fromEntries(kept));
    if (Buffer.byteLength(json) <= maxBytes) return json;
  }
  return null;
}

function isOption(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= maxTextLength && !/[\p{Cc}\p{Surrogate}]/u.test(value);
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
}
