import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import type { Accelerator } from './device.js';

/** The piece of hardware, or of software, that an execution provider computes on. */
export interface Adapter {
  readonly name: string;
  /** Its driver's name and version, as far as the system tells. Numbers that were right with one may be wrong with another. */
  readonly driver?: string;
}

// Mesa calls its renderer llvmpipe and the Vulkan driver around it lavapipe (lvp); SwiftShader is Chromium's, WARP Windows'.
const softwareName = /llvmpipe|lavapipe|softpipe|swiftshader|\bbasic (render|display)\b|\bWARP\b/i;
const softwareDriver = /lvp|swiftshader/i;

/** Whether the adapter is a program that imitates a GPU on the CPU, much slower than the CPU provider itself. */
export const isSoftware = ({ name, driver }: Adapter): boolean =>
  softwareName.test(name) || softwareDriver.test(driver ?? '');

/**
 * The adapter for which a Vulkan device was made, from what the Vulkan loader logs with `VK_LOADER_DEBUG=all`. Neither
 * onnxruntime nor its Dawn says which adapter it chose; the loader does, by the driver's own word.
 *
 * @param libraries paths of the libraries that the process had mapped, among them the driver
 * @returns undefined if the log does not say
 */
export async function vulkanAdapter(log: string, libraries: readonly string[]): Promise<Adapter | undefined> {
  const used = [...log.matchAll(/Using "(.+)" with driver: "(.+)"/g)].at(-1);
  if (!used) return undefined;
  const [, name, library] = used as unknown as [string, string, string];
  // The loader says libGLX_nvidia.so.0, the file is libGLX_nvidia.so.550.54.14; Mesa's files carry no version.
  const stem = basename(library).replace(/\.so.*$/, '.so');
  const file = libraries.find((path) => basename(path).startsWith(stem));
  const changed = file && (await stat(file).catch(() => undefined))?.mtime.toISOString().slice(0, 10);
  return { name, driver: file ? `${basename(file)} of ${changed}` : basename(library) };
}

/** The graphics adapter as the operating system names it, for providers that log nothing. */
export async function systemAdapter(provider: Accelerator): Promise<Adapter | undefined> {
  if (provider === 'cuda') {
    return firstOf(await output('nvidia-smi', ['--query-gpu=name,driver_version', '--format=csv,noheader']), ', ');
  }
  if (process.platform === 'win32') {
    const list = 'Get-CimInstance Win32_VideoController | ForEach-Object { $_.Name + "|" + $_.DriverVersion }';
    const lines = (await output('powershell', ['-NoProfile', '-Command', list]))
      ?.split('\n')
      .map((line) => line.trim());
    // DXGI gives real adapters before Windows' own.
    return firstOf(lines?.find((line) => line && !isSoftware({ name: line })) ?? lines?.[0], '|');
  }
  if (process.platform === 'darwin') {
    const name = await output('sysctl', ['-n', 'machdep.cpu.brand_string']);
    return firstOf(name && `${name.trim()}|${await output('sw_vers', ['-productVersion'])}`, '|');
  }
  return undefined;
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
