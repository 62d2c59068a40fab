// The memory of processes as Linux reports it. On other systems the functions find nothing.
import { readdirSync, readFileSync } from 'node:fs';

/**
 * The ids of the process and of all its descendants.
 *
 * @param {number} pid
 */
export function processTree(pid) {
  /** @type {Array<{ pid: number, parent: number }>} */
  let processes;
  try {
    processes = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => ({ pid: Number(name), parent: Number(field(name, 'status', 'PPid')) }));
  } catch {
    return [];
  }
  const tree = [pid];
  for (const parent of tree) {
    tree.push(...processes.filter((process) => process.parent === parent).map((process) => process.pid));
  }
  return tree;
}

/**
 * Peak of the resident memory, in MB.
 *
 * @param {number | 'self'} pid
 */
export const peakMemory = (pid) => megabytes(field(pid, 'status', 'VmHWM'));

/**
 * Memory in MB, with each shared page divided by the number of processes that share it, which makes sums meaningful.
 *
 * @param {number} pid
 */
export const proportionalMemory = (pid) => megabytes(field(pid, 'smaps_rollup', 'Pss'));

/**
 * The name of the script or program that the process runs, with its folder.
 *
 * @param {number} pid
 */
export function nameOf(pid) {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const script = words.find((word) => /\.m?js$/.test(word)) ?? words[0];
    return script.split('/').slice(-2).join('/');
  } catch {
    return undefined;
  }
}

/** @param {string | undefined} text such as `1234 kB` */
const megabytes = (text) => (text ? Math.round(Number.parseInt(text, 10) / 1024) : undefined);

/**
 * @param {number | string} pid
 * @param {string} file
 * @param {string} name
 */
function field(pid, file, name) {
  try {
    return new RegExp(`^${name}:\\s*(.+)$`, 'm').exec(readFileSync(`/proc/${pid}/${file}`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
