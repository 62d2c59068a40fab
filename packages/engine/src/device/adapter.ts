import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { basename } from 'node:path';
import { promisify } from 'node:util';

/** An execution provider of onnxruntime that is not the CPU. */
export type Accelerator = 'cuda' | 'webgpu' | 'coreml' | 'dml';

export type Provider = Accelerator | 'cpu';

/** Where the networks run. `auto` is the first accelerator that works correctly, or the CPU. */
export type Device = 'auto' | Provider;

/** All accelerators, in the order in which `auto` tries them. */
export const accelerators: readonly Accelerator[] = ['cuda', 'webgpu', 'coreml', 'dml'];

/** The hardware, or software, on which an execution provider runs. */
export interface Adapter {
  readonly name: string;
  /** Its driver's name and version, if the system tells. Results can differ between drivers. */
  readonly driver?: string;
}

// llvmpipe and its Vulkan driver lavapipe (lvp) are Mesa's, SwiftShader is Chromium's, WARP is Windows'.
const softwareName = /llvmpipe|lavapipe|softpipe|swiftshader|\bbasic (render|display)\b|\bWARP\b/i;
const softwareDriver = /lvp|swiftshader/i;

/** Whether the adapter emulates a GPU on the CPU, which is much slower than the CPU provider. */
export const isSoftware = ({ name, driver }: Adapter): boolean =>
  softwareName.test(name) || softwareDriver.test(driver ?? '');

/**
 * Finds the adapter of a Vulkan device in the Vulkan loader's log with `VK_LOADER_DEBUG=all`, because onnxruntime and
 * its Dawn do not report which adapter they chose.
 *
 * @param libraries paths of the libraries mapped into the process, including the driver
 * @returns undefined if the log does not contain it
 */
export async function vulkanAdapter(log: string, libraries: readonly string[]): Promise<Adapter | undefined> {
  const used = [...log.matchAll(/Using "(.+)" with driver: "(.+)"/g)].at(-1);
  if (!used) return undefined;
  const [, name, library] = used as unknown as [string, string, string];
  // The log has libGLX_nvidia.so.0, and the file is libGLX_nvidia.so.550.54.14. Mesa's files have no version.
  const stem = basename(library).replace(/\.so.*$/, '.so');
  const file = libraries.find((path) => basename(path).startsWith(stem));
  const changed = file && (await stat(file).catch(() => undefined))?.mtime.toISOString().slice(0, 10);
  return { name, driver: file ? `${basename(file)} of ${changed}` : basename(library) };
}

/** Asks the operating system for the graphics adapter, for providers without a log. */
export async function systemAdapter(provider: Accelerator): Promise<Adapter | undefined> {
  if (provider === 'cuda') {
    return firstOf(await output('nvidia-smi', ['--query-gpu=name,driver_version', '--format=csv,noheader']), ', ');
  }
  if (process.platform === 'win32') {
    const list = 'Get-CimInstance Win32_VideoController | ForEach-Object { $_.Name + "|" + $_.DriverVersion }';
    const lines = (await output('powershell', ['-NoProfile', '-Command', list]))
      ?.split('\n')
      .map((line) => line.trim());
    // DXGI prefers real adapters to Windows' software adapter.
    return firstOf(lines?.find((line) => line && !isSoftware({ name: line })) ?? lines?.[0], '|');
  }
  if (process.platform === 'darwin') {
    const name = await output('sysctl', ['-n', 'machdep.cpu.brand_string']);
    return firstOf(name && `${name.trim()}|${await output('sw_vers', ['-productVersion'])}`, '|');
  }
  return undefined;
}

/** Returns the memory of the first GPU, in bytes. Undefined if the system does not report it. */
export async function gpuMemory(): Promise<number | undefined> {
  // Apple's GPUs share the memory of the CPU.
  if (process.platform === 'darwin') return totalmem();
  const mebibytes = await output('nvidia-smi', ['--query-gpu=memory.total', '--format=csv,noheader,nounits']);
  return Number.parseInt(mebibytes ?? '', 10) * 1024 ** 2 || undefined;
}

function firstOf(text: string | undefined, separator: string): Adapter | undefined {
  const [name, driver] = text?.trim().split('\n')[0]?.split(separator) ?? [];
  return name ? { name, ...(driver && { driver: driver.trim() }) } : undefined;
}

const output = (command: string, args: readonly string[]): Promise<string | undefined> =>
  promisify(execFile)(command, args, { timeout: 10_000 }).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
