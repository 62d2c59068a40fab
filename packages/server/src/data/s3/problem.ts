/** What the SDK throws: a service's answer, or an error of Node's or its own. */
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
 * Why the object store did not do what it was asked, as the end of a sentence. Names what has to be set; repeats nothing of
 * the request, which holds a signature.
 */
export function problemOf(thrown: unknown, action: string): string {
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as SdkError;
  const name = typeof error.name === 'string' ? error.name : '';
  const code = typeof error.code === 'string' ? error.code : '';
  const status = error.$metadata?.httpStatusCode;
  if (name === 'CredentialsProviderError' || name === 'TokenProviderError') {
    return 'there are no credentials for it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role';
  }
  if (error.message === 'Region is missing') return 'no region is set for it: set AWS_REGION';
  if (name === 'NoSuchBucket') return 'there is no such bucket: make it, or name another one with --assets';
  if (refusedCredentials.has(name)) {
    return `it refuses the credentials (${name}): check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`;
  }
  if (wrongRegion.has(name) || status === 301) return 'the bucket is in another region: set AWS_REGION to its own';
  if (name === 'AccessDenied' || status === 403) return `the credentials do not permit ${action}`;
  if (name === 'TimeoutError' || name === 'AbortError') return 'it did not answer in time';
  if (status !== undefined) return `it answered HTTP ${status}${namesOnly(name) ? ` ${name}` : ''}`;
  if (code) return `it cannot be reached (${code})`;
  // No request was made: what the SDK says names a setting or a profile, and no secret.
  return `the request cannot be made: ${String(error.message)}`;
}
