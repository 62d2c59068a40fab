import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { UsageError } from '../exit/failure.js';
import { writeModel } from '../jobs/model-file.js';
import { formatOf, planOutputs } from '../jobs/output-file.js';
import { print } from '../terminal/terminal.js';

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
  if (formatOf(output) === 'glb') {
    throw new UsageError(`Cannot convert to ${output}. Use a name that ends in .obj, .stl, .usdz or .ply`);
  }
  const glb = model === '-' ? await buffer(process.stdin) : await readModel(model);
  const [path = output] = await planOutputs([output], { output, force });
  await writeModel(path, glb, force);
  print(path);
}

const readModel = (path: string) =>
  readFile(path).catch((cause: unknown) => {
    throw new UsageError(`${path} cannot be read. Pass the path of a GLB, or - for stdin`, { cause });
  });
