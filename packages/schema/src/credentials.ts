export const apiKeyPrefix = 'gen3d_';
export const webhookSecretPrefix = 'whsec_';

/** The public test key. Its jobs succeed immediately with a fixed sample model and are free (docs/contract.md section 5.4). */
export const publicTestKey = 'gen3d_test_public';
/** The largest body of a request with the public test key. */
export const testKeyBodyBytes = 256 * 1024;

/** The headers of every delivery (docs/contract.md section 6.3). */
export const timestampHeader = 'x-generate-timestamp';
export const signatureHeader = 'x-generate-signature';
