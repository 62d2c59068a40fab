// The part of the contract that does not need zod, to keep the SDK small in browsers.

export { certificateProblem } from './certificate.js';
export * from './credentials.js';
export * from './estimate.js';
export * from './file-type.js';
export * from './image-data-uri.js';
export * from './image-size.js';
export { encodeLabel, fileNameOf, labelHeader, labelOfUrl } from './label.js';
export * from './lifecycle.js';
export { limits } from './limits.js';
export * from './real-size.js';
export * from './response-checks.js';
export * from './sampler.js';
export { escapeHtml, oneLine, trimmed } from './text.js';
export * from './view-side.js';
export * from './warnings.js';
export * from './webhooks.js';
