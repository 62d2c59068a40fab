import {
  ConversionError,
  givenOptions,
  type ModelFormat,
  type ModelOptions,
  type ModelOptionTexts,
  modelOptions,
  parseModelOptions,
} from '@gen3d/convert/options';
import { readSetting, type SamplerSettings } from '@gen3d/schema/rules';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../exit/failure.js';
import { shellWord } from '../terminal/format.js';

/** Adds the options that change the written model to a command. */
export function addModelOptions(command: Command): Command {
  for (const row of Object.values(modelOptions)) {
    const option = new Option(row.flag, row.description);
    command.addOption('choices' in row ? option.choices(row.choices) : option);
  }
  return command;
}

/** Reads the options of `addModelOptions`. @throws {UsageError} if one is invalid, or not possible for the format */
export function readModelOptions(texts: ModelOptionTexts, format: ModelFormat): ModelOptions {
  try {
    return parseModelOptions(texts, format);
  } catch (error) {
    throw error instanceof ConversionError ? new UsageError(error.message, { cause: error }) : error;
  }
}

/** Writes the options as a command line contains them, each preceded by a space. */
export const modelOptionWords = (texts: ModelOptionTexts): string =>
  givenOptions(texts)
    .map(({ row, text }) => ` ${row.flag.split(' ')[0]} ${shellWord(text)}`)
    .join('');

/** Adds --seed and --steps. */
export const addSamplerOptions = (command: Command): Command =>
  command
    .option('--seed <n>', 'for networks that make a model in steps: another seed makes another model', setting('seed'))
    .option('--steps <n>', 'for these networks: more steps take longer in proportion', setting('steps'));

const setting = (name: keyof SamplerSettings) => (text: string) => {
  const value = readSetting(name, text);
  if (typeof value === 'string') throw new InvalidArgumentError(`${value}.`);
  return value;
};

/** Adds --option, whose values become an object. */
export const addModelServerOptions = (command: Command): Command =>
  command.option(
    '--option <name=value>',
    'an option for the model server of the bundle, if the bundle lists it; can be repeated',
    (text: string, earlier: Readonly<Record<string, string>> = {}) => {
      const [, name, value] = /^(\w+)=(.*)$/s.exec(text) ?? [];
      if (name === undefined || value === undefined) throw new InvalidArgumentError('Write it as name=value.');
      return { ...earlier, [name]: value };
    },
  );

/** Picks the sampler's settings from the options of a command. */
export const samplerOf = ({ seed, steps }: SamplerSettings): SamplerSettings => ({
  ...(seed !== undefined && { seed }),
  ...(steps !== undefined && { steps }),
});
