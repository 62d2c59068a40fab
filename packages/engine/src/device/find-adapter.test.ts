import { describe, expect, test, vi } from 'vitest';
import { isSoftware, vulkanAdapter } from './adapter.js';
import { explain, findAdapter } from './find-adapter.js';

describe('the adapter', () => {
  // From the loaders 1.3.239 and 1.4.309, with Mesa 25.0 and with Chromium's SwiftShader.
  const lavapipe =
    'DRIVER | LAYER:          Using "llvmpipe (LLVM 15.0.6, 256 bits)" with driver: "libvulkan_lvp.so"\n';

  test('is the last one for which the Vulkan loader created a device', async () => {
    const log = `${lavapipe}INFO | LAYER: Using "NVIDIA GeForce RTX 4090" with driver: "libGLX_nvidia.so.0"\n`;
    const libraries = ['/usr/lib/libvulkan.so.1.3.239', '/usr/lib/x86_64-linux-gnu/libGLX_nvidia.so.550.54.14'];
    const adapter = await vulkanAdapter(log, libraries);
    expect(adapter?.name).toBe('NVIDIA GeForce RTX 4090');
    // The file's name contains the driver's version.
    expect(adapter?.driver).toContain('libGLX_nvidia.so.550.54.14');
    expect(isSoftware(adapter!)).toBe(false);
  });

  test('is undefined if the log does not name it', async () => {
    expect(await vulkanAdapter('INFO: nothing to see here\n', [])).toBeUndefined();
  });

  test.each([
    'llvmpipe (LLVM 15.0.6, 256 bits)',
    'SwiftShader Device (Subzero)',
    'Microsoft Basic Render Driver',
    'Microsoft Basic Display Adapter',
  ])('%s is software', (name) => {
    expect(isSoftware({ name })).toBe(true);
  });

  test.each([
    'NVIDIA H100 80GB HBM3',
    'AMD Radeon RX 7900 XTX (RADV NAVI31)',
    'Intel(R) Arc(tm) A770 Graphics',
    'Apple M3',
  ])('%s is not software', (name) => {
    expect(isSoftware({ name, driver: 'libvulkan_radeon.so of 2026-01-01' })).toBe(false);
  });

  test('is software if only its driver tells', () => {
    expect(isSoftware({ name: 'Virtual GPU', driver: 'libvulkan_lvp.so' })).toBe(true);
  });
});

describe('a missing part is named, with what to do', () => {
  const noAdapter =
    '/onnxruntime_src/webgpu_context.cc:136 lambda was false. Failed to get a WebGPU adapter: No supported adapters\n\n';
  const cannotLoad = 'OrtSessionOptionsAppendExecutionProvider_Cuda: Failed to load shared library';
  const unopened = (file: string) =>
    `Failed to load library x with error: ${file}: cannot open shared object file: No such file`;

  test.runIf(process.platform === 'linux').each([
    [
      "Warning: Couldn't load Vulkan: libvulkan.so.1: cannot open shared object file",
      /libvulkan\.so\.1.*install libvulkan1/,
    ],
    ['Warning: vkCreateInstance: Found no drivers!', /no Vulkan driver.*mesa-vulkan-drivers/],
    [
      'ERROR: setup_loader_term_phys_devs:  Failed to detect any valid GPUs in the current config',
      /find no GPU.*container/,
    ],
    [
      'Warning: Vulkan shaderUniform*ArrayDynamicIndexing required.\n - While initializing adapter (backend=BackendType::Vulkan)',
      /too old for WebGPU \(Vulkan shaderUniform\*ArrayDynamicIndexing required/,
    ],
  ])('WebGPU: %s', (log, sentence) => {
    expect(explain('webgpu', noAdapter, log)).toMatch(sentence);
  });

  test.each([
    [
      "onnxruntime's own part",
      unopened('/x/libonnxruntime_providers_shared.so'),
      /ONNXRUNTIME_NODE_INSTALL=cuda12 node .*install\.js/,
    ],
    [
      'a library of CUDA',
      unopened('libcublasLt.so.12'),
      /^libcublasLt\.so\.12 is missing: install CUDA 12 and cuDNN 9/,
    ],
    ['the driver', 'CUDA failure 35', /nvidia-smi/],
  ])('CUDA: %s', (_, log, sentence) => {
    expect(explain('cuda', cannotLoad, log)).toMatch(sentence);
  });

  test('anything else has the message of the runtime, without its source files', () => {
    expect(explain('dml', '/a/b.cc:1 f() was false. Failed to make a device: E_FAIL\n\n', '')).toBe(
      'dml does not work here: Failed to make a device: E_FAIL',
    );
  });
});

test('a provider that the runtime was built without is refused without a probe', async () => {
  const absent = process.platform === 'win32' ? 'coreml' : 'dml';
  expect(await findAdapter(absent)).toEqual({
    problem: expect.stringMatching(new RegExp(`^onnxruntime [\\d.]+ has no ${absent} for ${process.platform}`)),
  });
});

test.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'without a Vulkan driver, the message says to install one',
  async () => {
    vi.stubEnv('VK_DRIVER_FILES', '/nowhere.json');
    vi.stubEnv('VK_ICD_FILENAMES', '/nowhere.json');
    const found = await findAdapter('webgpu');
    vi.unstubAllEnvs();
    expect(found).toEqual({ problem: expect.stringMatching(/Vulkan (driver|loader).*docs\/devices\.md/) });
  },
);
