/** The headers of every delivery (API.md section 6.3). */
export const timestampHeader = 'x-generate-timestamp';
export const signatureHeader = 'x-generate-signature';
