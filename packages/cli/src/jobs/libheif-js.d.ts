/** The functions of libheif that `heic.ts` uses. The package declares types for another entry only. */
declare module 'libheif-js/wasm-bundle.js' {
  interface Failure {
    readonly code: unknown;
    readonly message: string;
  }
  interface Channel {
    readonly id: unknown;
    readonly width: number;
    readonly height: number;
    /** Bytes per row. */
    readonly stride: number;
    readonly data: Uint8Array;
  }
  interface DecodedImage {
    readonly code?: undefined;
    readonly channels: readonly Channel[];
    readonly image: number;
  }
  interface Handle {
    readonly code?: undefined;
  }

  const libheif: {
    readonly heif_error_code: { readonly heif_error_Ok: unknown };
    readonly heif_colorspace: { readonly heif_colorspace_RGB: unknown };
    readonly heif_chroma: { readonly heif_chroma_interleaved_RGBA: unknown };
    heif_context_alloc(): object;
    heif_context_read_from_memory(context: object, bytes: Uint8Array): Failure;
    heif_context_free(context: object): void;
    heif_js_context_get_primary_image_handle(context: object): Handle | Failure;
    heif_js_decode_image2(
      handle: Handle,
      colorspace: unknown,
      chroma: unknown,
    ): DecodedImage | Failure | Promise<DecodedImage | Failure>;
    heif_image_release(image: number): void;
    heif_image_handle_release(handle: Handle): void;
  };
  export = libheif;
}
