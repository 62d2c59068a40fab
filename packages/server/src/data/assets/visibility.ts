/** Limits how long an unresponsive proxy can delay the warning. */
const timeoutMs = 10_000;

/**
 * Says why browsers cannot load `url`, as a sentence for the operator. Undefined if they can. A new bucket is private,
 * which the first user would discover otherwise.
 */
export async function visibilityProblem(url: string): Promise<string | undefined> {
  const advice =
    'see docs/operations/s3.md for the policy of the bucket, or set --assets-url to the public address of the assets';
  try {
    const response = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(timeoutMs) });
    return response.ok ? undefined : `The assets are not public: ${url} returned HTTP ${response.status}; ${advice}`;
  } catch {
    return `The assets cannot be reached from this machine: no response from ${new URL(url).origin}; ${advice}`;
  }
}
