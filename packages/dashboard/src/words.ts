import type { JobStatus } from './api.js';

export const statusWords: Record<JobStatus, string> = {
  PENDING: 'Waiting',
  QUEUED: 'Queued',
  IN_PROGRESS: 'Working',
  SUCCEEDED: 'Done',
  FAILED: 'Failed',
  CANCELED: 'Canceled',
};

/** What to do about a failed job, by its error code. */
export const advice: Record<string, string> = {
  image_fetch_failed: 'Check the address in a browser, or upload the photo itself.',
  image_too_large: 'Use a smaller photo: at most 25 MiB and 100 megapixels.',
  image_invalid: 'Use a whole PNG, JPEG or WebP picture that is at least 16 pixels on each side.',
  no_foreground: 'Use a plainer background, or a PNG that is already cut out.',
  inference_failed: 'Try another view of the object: whole, from a little above the front.',
  unsupported_type: 'Use the type image-to-3d.',
  internal_error: 'Try again. If it fails again, the server’s log says more.',
};

const money = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: 4 });
export const usd = (amount: number): string => money.format(amount);

/** What becomes of a photo, in the order in which it does. */
export const stageWords: Record<string, string> = {
  queue: 'Queue',
  prepare: 'Photo',
  load: 'Load',
  matte: 'Cut out',
  frame: 'Frame',
  encode: 'Network',
  field: 'Shape',
  surface: 'Surface',
  unwrap: 'Unwrap',
  bake: 'Texture',
  write: 'GLB',
  thumbnail: 'Thumbnail',
  store: 'Store',
};

const dateTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
export const when = (iso: string): string => dateTime.format(new Date(iso));

const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
export const whenExactly = (iso: string): string => exact.format(new Date(iso));

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** `5 minutes ago`, `in 10 seconds` */
export function ago(iso: string, now = Date.now()): string {
  const ms = new Date(iso).getTime() - now;
  const [unit, size] = units.find(([, size]) => Math.abs(ms) >= size) ?? units[3];
  return relative.format(Math.round(ms / size), unit);
}

export const milliseconds = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : seconds(ms / 1_000));

export const seconds = (amount: number): string =>
  amount < 60 ? `${amount.toFixed(1)} s` : `${Math.floor(amount / 60)} min ${Math.round(amount % 60)} s`;
