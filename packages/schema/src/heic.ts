/** Whether a file that starts with these bytes is a HEIC or HEIF photo. AVIF, which has the same container, is not. */
export function isHeic(bytes: Uint8Array): boolean {
  const start = String.fromCharCode(...bytes.subarray(0, 64));
  if (start.slice(4, 8) !== 'ftyp') return false;
  // The fourth byte is the length of the list of brands.
  const brands = start.slice(8, Math.max(8, bytes[3] ?? 0));
  return /hei[cxms]|hev[cxms]|mif1|msf1/.test(brands) && !/avi[fs]/.test(brands);
}
