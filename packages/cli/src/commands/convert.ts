import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { UsageError } from '../exit/failure.js';
import { writeModel } from '../jobs/model-file.js';
import { convertedFormats, formatOf, planOutputs } from '../jobs/output-file.js';
import { print, requirePipe } from '../terminal/terminal.js';

interface ConvertOptions {
  readonly force?: boolean;
}

export function addConvert(program: Command): void {
  program
    .command('convert')
    .summary('convert a GLB to OBJ, STL, USDZ or PLY')
    .description(
      'Convert a GLB on this machine. The extension of the output selects the format:\n' +
        '.obj (with .mtl and texture), .stl (shape only, for printing), .usdz (AR on Apple devices), .ply (vertex colors).\n' +
        'Units are meters. Y is up in OBJ and USDZ, Z in STL and PLY.',
    )
    .argument('<model>', 'the GLB, or - for stdin')
    .argument('<output>', 'the file to write, such as model.stl')
    .option('-f, --force', 'overwrite existing files')
    .action((model: string, output: string, options: ConvertOptions) => convert(model, output, options));
}

async function convert(model: string, output: string, { force = false }: ConvertOptions): Promise<void> {
  formatOf(output, convertedFormats);
  await planOutputs([output], { force }, [model]);
  await writeModel(output, await readModel(model), { force, source: model === '-' ? 'stdin' : model });
  print(output);
}

async function readModel(path: string): Promise<Uint8Array> {
  if (path === '-') {
    requirePipe('gen3d convert - model.stl < model.glb');
    return buffer(process.stdin);
  }
  return readFile(path).catch((cause: unknown) => {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    const problem = isMissing ? 'does not exist' : 'cannot be read';
    throw new UsageError(`${path} ${problem}. Pass the path of a GLB, or - for stdin`, { cause });
  });
}
