/** Parses a URL. `URL.canParse` and `URL.parse` are missing in browsers before 2023, and in the jsdom of Jest 29. */
export function parseUrl(url: string, base?: string): URL | undefined {
  try {
    return new URL(url, base);
  } catch {
    return undefined;
  }
}
