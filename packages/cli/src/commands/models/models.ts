import type { Command } from 'commander';
import { addModelsList } from './list.js';
import { addPull } from './pull.js';
import { addUse } from './use.js';
import { addVerify } from './verify.js';

export function addModels(program: Command): void {
  const models = program.command('models').summary('manage bundles').option('--json', 'print JSON');
  addModelsList(models);
  addPull(models);
  addVerify(models);
  addUse(models);
}
