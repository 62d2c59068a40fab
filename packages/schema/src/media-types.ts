/** The media types an inline image may have (API.md section 4.1). */
export const inlineImageTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;
