export const apiKeyPrefix = 'gen3d_';
export const webhookSecretPrefix = 'whsec_';

/** Jobs with this public key are free, and succeed immediately with a sample model (docs/contract.md section 5.4). */
export const publicTestKey = 'gen3d_test_public';
/** Requests with the public test key may have bodies up to this size. */
export const testKeyBodyBytes = 256 * 1024;

/** Every delivery has these headers (docs/contract.md section 6.3). */
export const timestampHeader = 'x-generate-timestamp';
export const signatureHeader = 'x-generate-signature';
