import { certificateProblem } from '@gen3d/schema/rules';
import { ConnectionError, Gen3dError } from './errors.js';
import { codeOf, messageOf } from './realms.js';

/** Converts the failure of a request without a complete response. @param hasHeaders whether a response had begun */
export function connectionError(url: string, error: unknown, hasHeaders = false): Gen3dError {
  if (error instanceof Gen3dError) return error;
  const cause = innermost(error);
  // For a 407, undici's innermost error has no message.
  const text = messageOf(cause) || messageOf(error);
  const { origin } = new URL(url);
  const message = hasHeaders
    ? `The connection to ${origin} broke during its response: ${text}. Try again`
    : (tlsProblem(new URL(url), codeOf(cause), text) ?? `Cannot reach ${origin}: ${text}`);
  return new ConnectionError('connection_failed', message, { cause: error });
}

// The codes of OpenSSL in Node, then the texts of other runtimes.
const speaksNoTls =
  /ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)|wrong.version.number|InvalidContentType/i;
const speaksNoHttp = /HPE_INVALID_CONSTANT|Expected HTTP/i;

/** Says that a certificate is refused, or that only one side uses TLS. */
function tlsProblem({ origin, protocol, host }: URL, code: string | undefined, text: string): string | undefined {
  const certificate = certificateProblem(code);
  if (certificate) return `${origin} cannot be trusted: ${certificate}`;
  if (protocol === 'https:' && speaksNoTls.test(`${code} ${text}`))
    return `The server at ${host} speaks http, not https. Use http://${host} as the base URL`;
  if (protocol === 'http:' && speaksNoHttp.test(`${code} ${text}`))
    return `The server at ${host} does not speak http. If it uses TLS, use https://${host} as the base URL`;
  return undefined;
}

/** Returns the innermost error: undici wraps the actual one in one or two others, such as "fetch failed". */
function innermost(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  if ('cause' in error && typeof error.cause === 'object' && error.cause !== null) return innermost(error.cause);
  if ('errors' in error && Array.isArray(error.errors) && error.errors.length > 0) return innermost(error.errors[0]);
  return error;
}
