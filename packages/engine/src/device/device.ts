/** An execution provider of onnxruntime that is not the CPU. */
export type Accelerator = 'cuda' | 'webgpu' | 'coreml' | 'dml';

export type Provider = Accelerator | 'cpu';

/** Where the networks run: `auto` takes the first accelerator that can be trusted, or the CPU. */
export type Device = 'auto' | Provider;

/** In the order in which `auto` tries them. */
export const accelerators: readonly Accelerator[] = ['cuda', 'webgpu', 'coreml', 'dml'];
