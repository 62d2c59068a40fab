import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { env, listSupportedBackends, runtimeFolder } from '../network/onnxruntime.js';
import type { Accelerator } from './adapter.js';
import { type Adapter, isSoftware, systemAdapter, vulkanAdapter } from './adapter.js';
import { probe } from './probe.js';

/** Says why a provider cannot be used on this machine, and what to install. */
export interface Unusable {
  readonly problem: string;
  readonly adapter?: Adapter;
}

/**
 * Checks whether a provider works on this machine, and finds its adapter.
 *
 * @param allowSoftware accept an adapter that runs on the CPU; for tests
 */
export async function findAdapter(
  provider: Accelerator,
  { allowSoftware = false } = {},
): Promise<{ readonly adapter: Adapter } | Unusable> {
  if (!listSupportedBackends().some(({ name }) => name === provider)) {
    return { problem: `onnxruntime ${runtimeVersion} has no ${provider} for ${process.platform} ${process.arch}` };
  }
  // This check needs no process, and is enough on most machines.
  if (provider === 'cuda' && !existsSync(cudaLibrary()))
    return { problem: `${basename(cudaLibrary())} is missing. ${fetchCuda()}` };
  const probed = await probe('open', { provider });
  if ('problem' in probed) return { problem: explain(provider, probed.problem, probed.log) };
  const adapter =
    provider === 'webgpu' && process.platform === 'linux'
      ? await vulkanAdapter(probed.log, probed.result.libraries)
      : await systemAdapter(provider);
  if (!adapter) {
    // An old Vulkan loader that does not name its choice may have chosen llvmpipe. Other systems have no software
    // fallback.
    if (provider === 'webgpu' && process.platform === 'linux' && !allowSoftware) {
      return { problem: `The Vulkan loader is too old: it does not name the adapter that it chose. ${installVulkan}` };
    }
    return { adapter: { name: 'not named by the system' } };
  }
  if (isSoftware(adapter) && !allowSoftware) {
    return {
      adapter,
      problem: `${adapter.name} is not a GPU but emulates one, which is slower than the CPU provider. ${installVulkan}`,
    };
  }
  return { adapter };
}

export const runtimeVersion = env.versions.node ?? 'unknown';

const cudaLibrary = () =>
  join(runtimeFolder(), 'bin', 'napi-v6', process.platform, process.arch, 'libonnxruntime_providers_cuda.so');

const fetchCuda = () =>
  `Fetch it with: ONNXRUNTIME_NODE_INSTALL=cuda12 node ${join(runtimeFolder(), 'script', 'install.js')}`;

const installVulkan =
  "Install your GPU's Vulkan driver (NVIDIA: its own driver; AMD and Intel: mesa-vulkan-drivers), and in a container pass the GPU through; see docs/devices.md";

/** Explains, from the log of onnxruntime, Dawn and the Vulkan loader, what is missing and what to do. */
export function explain(provider: Accelerator, reason: string, log: string): string {
  const missing = /(lib[\w.+-]+\.so[\w.]*): cannot open shared object file/.exec(log)?.[1];
  if (provider === 'cuda') {
    if (missing?.startsWith('libonnxruntime_providers')) return `${missing} is missing. ${fetchCuda()}`;
    if (missing) return `${missing} is missing: install CUDA 12 and cuDNN 9, and add their folders to LD_LIBRARY_PATH`;
    return `CUDA does not work here: ${gist(reason)}. Check that nvidia-smi finds a GPU and a driver for CUDA 12`;
  }
  if (provider === 'webgpu' && process.platform === 'linux') {
    if (/Couldn't load Vulkan/.test(log)) {
      return `The Vulkan loader, libvulkan.so.1, is missing: install libvulkan1 (Fedora: vulkan-loader). ${installVulkan}`;
    }
    if (/Found no drivers|VK_ERROR_INCOMPATIBLE_DRIVER/.test(log)) return `There is no Vulkan driver. ${installVulkan}`;
    if (/Failed to detect any valid GPUs/.test(log))
      return `The installed Vulkan drivers find no GPU. ${installVulkan}`;
    // Dawn logs what each adapter lacks.
    const lacking = /^Warning: (.*)\n - While initializing adapter/m.exec(log)?.[1];
    if (lacking) return `The Vulkan driver is too old for WebGPU (${lacking}). ${installVulkan}`;
  }
  return `${provider} does not work here: ${gist(reason)}`;
}

/** Removes the source file and function that onnxruntime puts in front of a message. */
const gist = (text: string) => /Failed to .*/.exec(text)?.[0] ?? text.trim().split('\n')[0];
