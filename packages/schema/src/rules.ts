// The part of the contract that needs no zod, for clients that count their bytes: the SDK in a browser.
export * from './image-data-uri.js';
export * from './keys.js';
export * from './lifecycle.js';
export { limits } from './limits.js';
export * from './signature-headers.js';
