import { readSetting, type SamplerSettings } from '@gen3d/schema/rules';
import { type Command, InvalidArgumentError } from 'commander';

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

/** Picks the sampler's settings from the options of a command. */
export const samplerOf = ({ seed, steps }: SamplerSettings): SamplerSettings => ({
  ...(seed !== undefined && { seed }),
  ...(steps !== undefined && { steps }),
});
