import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { ModelOptionTexts } from '@gen3d/convert/options';
import type { Command } from 'commander';
import { UsageError } from '../exit/failure.js';
import { printModel, writeModel } from '../jobs/model-file.js';
import { addModelOptions } from '../jobs/model-options.js';
import { convertedFormats, formatOf, planOutputs } from '../jobs/output-file.js';
import { requirePipe } from '../terminal/terminal.js';

interface ConvertOptions extends ModelOptionTexts {
  readonly force?: boolean;
}

export function addConvert(program: Command): void {
  const command = program
    .command('convert')
    .summary('convert a GLB to OBJ, STL, USDZ or PLY')
    .description(
      'Convert a GLB on this machine. The extension of the output selects the format:\n' +
        '.obj (with .mtl and texture), .stl (shape only, for printing), .usdz (AR on Apple devices), .ply (vertex colors).\n' +
        'Units are meters, in STL millimeters. Y is up in OBJ and USDZ, Z in STL and PLY.',
    )
    .argument('<model>', 'the GLB, or - for stdin')
    .argument('<output>', 'the file to write, such as model.stl')
    .option('-f, --force', 'overwrite existing files');
  addModelOptions(command).action((model: string, output: string, options: ConvertOptions) =>
    convert(model, output, options),
  );
}

async function convert(model: string, output: string, options: ConvertOptions): Promise<void> {
  formatOf(output, convertedFormats);
  await planOutputs([output], options, [model]);
  const source = model === '-' ? 'stdin' : model;
  printModel(output, await writeModel(output, await readModel(model), { ...options, source }));
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
