/** Why a certificate was refused, by the codes of OpenSSL that Node uses as `error.code`, and Node's own for a name. */
const problems: Readonly<Record<string, readonly string[]>> = {
  'its certificate is signed by an authority that this machine does not know. Set NODE_EXTRA_CA_CERTS to the file with the certificate of that authority, and start this program again':
    [
      'CERT_REJECTED',
      'CERT_UNTRUSTED',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ],
  'its certificate has expired': ['CERT_HAS_EXPIRED'],
  'its certificate is not valid yet. Check the clock of this machine': ['CERT_NOT_YET_VALID'],
  'its certificate is for another host name': ['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH'],
};

/** Further codes of OpenSSL, such as `CERT_REVOKED`. No other errors of Node have such codes. */
const otherCodes = /^(CERT|CRL|ERROR_IN|INVALID|PATH_LENGTH|UNABLE_TO)_/;

/**
 * Says why the certificate of a TLS server was refused, to complete a sentence such as "Cannot reach https://host: ".
 *
 * @param code the `code` of the innermost error
 * @returns undefined if the error is not about a certificate
 * @see https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
export function certificateProblem(code: unknown): string | undefined {
  const problem = Object.entries(problems).find(([, codes]) => codes.includes(String(code)))?.[0];
  return problem ?? (otherCodes.test(String(code)) ? 'its certificate is not valid' : undefined);
}
