/**
 * In place of three's decoder for EXT_meshopt_compression, which compiles WebAssembly as soon as it is loaded: our
 * Content-Security-Policy allows none, and our GLBs are not compressed.
 */
export const MeshoptDecoder = { supported: false };
