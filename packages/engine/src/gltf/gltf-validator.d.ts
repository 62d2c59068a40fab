// Khronos's validator is compiled from Dart and has no types. These are the parts of its README that we use.
declare module 'gltf-validator' {
  export interface ValidationMessage {
    readonly code: string;
    readonly message: string;
    /** 0 error, 1 warning, 2 information, 3 hint */
    readonly severity: 0 | 1 | 2 | 3;
    readonly pointer?: string;
  }
  export interface ValidationReport {
    readonly issues: { readonly messages: readonly ValidationMessage[]; readonly truncated: boolean };
    readonly info: { readonly totalTriangleCount: number; readonly totalVertexCount: number };
  }
  export function validateBytes(
    bytes: Uint8Array,
    options?: { format?: 'glb' | 'gltf'; maxIssues?: number },
  ): Promise<ValidationReport>;
}
