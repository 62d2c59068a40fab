// Memory of this machine's processes as the kernel reports it. Only on Linux; elsewhere nothing is found.
import { readdirSync, readFileSync } from 'node:fs';

/** The process and all that it started, and those started in turn. */
export function processTree(pid) {
  const parents = new Map();
  try {
    for (const name of readdirSync('/proc')) {
      if (/^\d+$/.test(name)) parents.set(Number(name), Number(field(name, 'status', 'PPid')));
    }
  } catch {
    return [];
  }
  const tree = [pid];
  for (const one of tree) tree.push(...[...parents].filter(([, parent]) => parent === one).map(([child]) => child));
  return tree;
}

/** Peak of the resident memory, in MB. */
export const peakMemory = (pid) => megabytes(field(pid, 'status', 'VmHWM'));

/** Memory with each shared page divided by the number of processes that share it, so that a sum is fair; in MB. */
export const proportionalMemory = (pid) => megabytes(field(pid, 'smaps_rollup', 'Pss'));

/** Name of the script or program that the process runs. */
export function nameOf(pid) {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const script = words.find((word) => /\.m?js$/.test(word)) ?? words[0];
    return script.split('/').slice(-2).join('/');
  } catch {
    return undefined;
  }
}

function megabytes(text) {
  const kilobytes = text?.split(' ')[0];
  return kilobytes && Math.round(kilobytes / 1024);
}

function field(pid, file, name) {
  try {
    return new RegExp(`^${name}:\\s*(.+)$`, 'm').exec(readFileSync(`/proc/${pid}/${file}`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
