/** Parses a URL. `URL.canParse` and `URL.parse` are missing in browsers from before 2023 and in Jest 29's jsdom. */
export function parseUrl(url: string, base?: string): URL | undefined {
  try {
    return new URL(url, base);
  } catch {
    return undefined;
  }
}
