const usdFormat = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: 4 });
export const usd = (amount: number): string => usdFormat.format(amount);

/** Writes a size as `93 kB` or `1.7 GB`, with a no-break space. */
export function fileSize(bytes: number): string {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1e3)}\u00a0kB`;
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)}\u00a0MB` : `${(bytes / 1e9).toFixed(1)}\u00a0GB`;
}

const dateTimeFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
export const dateTime = (iso: string): string => dateTimeFormat.format(new Date(iso));

const exactFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
/** Formats a time to the second. */
export const exactDateTime = (iso: string): string => exactFormat.format(new Date(iso));

const relativeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** Writes a time as `5 minutes ago` or `in 10 seconds`. */
export function relativeTime(iso: string): string {
  const ms = new Date(iso).getTime() - Date.now();
  const [unit, size] = units.find(([, size]) => Math.abs(ms) >= size) ?? units[3];
  return relativeFormat.format(Math.round(ms / size), unit);
}

export const milliseconds = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : seconds(ms / 1_000));

export const seconds = (amount: number): string =>
  amount < 60 ? `${amount.toFixed(1)} s` : `${Math.floor(amount / 60)} min ${Math.round(amount % 60)} s`;

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
