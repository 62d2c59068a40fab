/**
 * Replaces three's decoder for EXT_meshopt_compression, which compiles WebAssembly when it is loaded. The
 * Content-Security-Policy forbids that, and our GLBs are not compressed.
 */
export const MeshoptDecoder = { supported: false };
