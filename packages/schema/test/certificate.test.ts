import { expect, test } from 'vitest';
import { certificateProblem } from '../src/rules.js';

test.each(['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'])(
  '%s names the variable for a certificate authority of one’s own',
  (code) => {
    expect(certificateProblem(code)).toMatch(/authority that this machine does not know\. Set NODE_EXTRA_CA_CERTS to/);
  },
);

test.each([
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another host name'],
  ['INVALID_PURPOSE', 'its certificate is not valid'],
  ['ECONNREFUSED', undefined],
  ['constructor', undefined],
  [undefined, undefined],
])('%s is not about an unknown authority', (code, problem) => {
  expect(certificateProblem(code)).toBe(problem);
});
