import { cpus, totalmem } from 'node:os';
import { Failed, main } from '../processes.mjs';
import { requireNode } from '../repository.mjs';

/**
 * Runs the benchmark that the command line names, after a line that describes the machine.
 *
 * @param {Readonly<Record<string, (atEnd: import('../processes.mjs').AtEnd) => Promise<void>>>} benches the first one
 *   runs if the command line names none
 */
export async function runBench(benches) {
  requireNode();
  const names = Object.keys(benches);
  const [first = '-'] = process.argv.slice(2);
  const name = first.startsWith('-') ? names[0] : first;
  await main(async (atEnd) => {
    if (!names.includes(name)) throw new Failed(`Unknown benchmark ${name}. Choose one of: ${names.join(', ')}`);
    const cores = cpus();
    console.log(
      `${cores[0]?.model}, ${cores.length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}, ` +
        `${process.platform} ${process.arch}, ${new Date().toISOString().slice(0, 10)}\n`,
    );
    await benches[name](atEnd);
  });
}
