// The part of the contract that needs no zod, for clients that count their bytes: the SDK in a browser.

export * from './credentials.js';
export * from './image-data-uri.js';
export * from './lifecycle.js';
export { limits } from './limits.js';
