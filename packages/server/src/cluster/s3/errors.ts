/** Covers everything that the SDK throws: the service's error responses, Node's errors and its own. */
interface SdkError {
  name?: unknown;
  code?: unknown;
  message?: unknown;
  $metadata?: { httpStatusCode?: number };
}

const refusedCredentials: ReadonlySet<string> = new Set([
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'InvalidToken',
  'ExpiredToken',
  'TokenRefreshRequired',
]);

const wrongRegion: ReadonlySet<string> = new Set([
  'PermanentRedirect',
  'TemporaryRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);

const namesOnly = (text: string) => /^[\w.-]+$/.test(text);

/**
 * Says why a request to the object store failed, as the end of a sentence. Names the setting to change, and quotes
 * nothing of the request, which contains a signature.
 */
export function reasonOf(thrown: unknown, action: string): string {
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as SdkError;
  const name = typeof error.name === 'string' ? error.name : '';
  const code = typeof error.code === 'string' ? error.code : '';
  const status = error.$metadata?.httpStatusCode;
  if (name === 'CredentialsProviderError' || name === 'TokenProviderError') {
    return 'there are no credentials for it; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role';
  }
  // The SDK gives this error no code.
  if (error.message === 'Region is missing') return 'no region is set for it; set AWS_REGION';
  if (name === 'NoSuchBucket') return 'the bucket does not exist; create it, or choose another one with --assets';
  if (refusedCredentials.has(name)) {
    return `it refuses the credentials (${name}); check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`;
  }
  if (wrongRegion.has(name) || status === 301) return 'the bucket is in another region; set AWS_REGION to that';
  if (name === 'AccessDenied' || status === 403) return `the credentials do not permit ${action}`;
  if (name === 'TimeoutError' || name === 'AbortError') return 'it did not respond in time';
  if (status !== undefined) return `it returned HTTP ${status}${namesOnly(name) ? ` ${name}` : ''}`;
  if (code) return `it cannot be reached (${code})`;
  // No request was made; the SDK's message names a setting or a profile, and no secret.
  return `the request cannot be sent: ${String(error.message)}`;
}
