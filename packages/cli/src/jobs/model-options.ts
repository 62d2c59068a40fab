import {
  ConversionError,
  givenOptions,
  type ModelFormat,
  type ModelOptions,
  type ModelOptionTexts,
  modelOptions,
  parseModelOptions,
} from '@gen3d/convert/options';
import { type Command, Option } from 'commander';
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
