/** A proxy that never answers shall not hold up the news. */
const timeoutMs = 10_000;

/**
 * Why a browser could not load `url`, as a sentence for whoever runs the server; undefined when it can. A bucket is private
 * until somebody opens the part with the assets, and nothing else would say so before the first customer does.
 */
export async function whyHidden(url: string): Promise<string | undefined> {
  const advice =
    'see docs/operations/s3.md for the policy of the bucket, or set --assets-url to where the assets can be read';
  try {
    const answer = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(timeoutMs) });
    return answer.ok ? undefined : `Nobody can read the assets: ${url} answers HTTP ${answer.status}; ${advice}`;
  } catch {
    return `The assets cannot be reached from here: no answer from ${new URL(url).origin}; ${advice}`;
  }
}
