import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type ModelOptionTexts, modelFormats } from '@gen3d/convert/options';
import { type Command, Option } from 'commander';
import { UsageError } from '../exit/failure.js';
import { hasCode } from '../files/system-errors.js';
import { isStdout, stdoutPath } from '../files/target.js';
import { printModel, writeModel } from '../jobs/model-file.js';
import { addModelOptions } from '../jobs/model-options.js';
import { modelPath, planOutputs, unknownFormat } from '../jobs/output-file.js';
import { printJson, requirePipe } from '../terminal/terminal.js';

interface ConvertOptions extends ModelOptionTexts {
  readonly output?: string;
  readonly to?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

export function addConvert(program: Command): void {
  const command = program
    .command('convert')
    .summary('convert a GLB for printing, AR, the web and other programs')
    .description(
      'Convert a GLB on this machine. The extension of the output selects the format:\n' +
        '.obj (with .mtl and texture), .stl (shape only, for printing), .3mf (for printing, with colors),\n' +
        '.usdz (AR on Apple devices), .glb (in another size, or within a budget).\n' +
        'Units are meters, in STL and 3MF millimeters. Y is up in OBJ and USDZ, Z in STL and 3MF.',
    )
    .argument('<model>', 'the GLB, or - for stdin')
    .argument('[output]', 'the file to write, such as model.stl, or - for a GLB on stdout')
    .option('-o, --output <path>', 'the same; with --to, also a folder')
    .addOption(new Option('--to <format>', 'write this format next to the GLB').choices(modelFormats))
    .option('-f, --force', 'overwrite existing files')
    .option('--json', 'print { path, bytes, notes, print_check }');
  addModelOptions(command).action(convert);
}

async function convert(
  model: string,
  argument: string | undefined,
  { to, output: given = argument, json, ...options }: ConvertOptions,
): Promise<void> {
  if (argument !== undefined && given !== argument) {
    throw new UsageError(`The output is both ${argument} and ${given}. Pass one of them`);
  }
  const output = given !== undefined && isStdout(given) ? stdoutPath : given;
  const named =
    output === stdoutPath ? 'glb' : modelFormats.find((format) => output?.toLowerCase().endsWith(`.${format}`));
  if (to !== undefined && named !== undefined && named !== to) {
    const place = output === stdoutPath ? 'Standard output gets a GLB' : `${output} is a file of another format`;
    throw new UsageError(`${place}, so --to ${to} does not apply. Leave out one of them, or pass a folder`);
  }
  const name = to === undefined ? output : modelPath(model).replace(/glb$/, to);
  if (name === undefined) throw new UsageError('Pass the file to write, such as model.stl, or --to with a format');
  if (name !== stdoutPath && extname(name) === '') throw unknownFormat(name);
  const place = output !== undefined && (output === stdoutPath || to !== undefined) ? { output } : {};
  const [path = ''] = await planOutputs([name], { ...options, ...place, ...(json && { json }) }, [model]);
  const source = model === '-' ? 'stdin' : model;
  const { printCheck, ...written } = await writeModel(path, await readModel(model), { ...options, source });
  if (json) printJson({ path, ...written, print_check: printCheck });
  else printModel(path, written);
}

async function readModel(path: string): Promise<Uint8Array> {
  if (path === '-') {
    requirePipe('gen3d convert - model.stl < model.glb');
    return buffer(process.stdin);
  }
  return readFile(path).catch((cause: unknown) => {
    const problem = hasCode(cause, 'ENOENT') ? 'does not exist' : 'cannot be read';
    throw new UsageError(`${path} ${problem}. Pass the path of a GLB, or - for stdin`, { cause });
  });
}
