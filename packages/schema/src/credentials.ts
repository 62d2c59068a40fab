export const apiKeyPrefix = 'gen3d_';
export const webhookSecretPrefix = 'whsec_';

/** The public test key: its jobs succeed at once with a fixed sample model and cost nothing (API.md section 5). */
export const publicTestKey = 'gen3d_test_public';

/** The headers of every delivery (API.md section 6.3). */
export const timestampHeader = 'x-generate-timestamp';
export const signatureHeader = 'x-generate-signature';
