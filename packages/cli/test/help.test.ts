import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { completeProgram } from '../src/program.js';
import { inheritedOptions } from '../src/terminal/help.js';

const allCommands = (command: Command): Command[] => [command, ...command.commands.flatMap(allCommands)];
const pathOf = (command: Command): string => `${command.parent ? `${pathOf(command.parent)} ` : ''}${command.name()}`;

test('the overview of all commands fits on a screen of 24 lines with 80 characters', async () => {
  const gen3d = await completeProgram();
  const lines = gen3d.helpInformation().trimEnd().split('\n');
  expect(lines.length).toBeLessThan(24);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  for (const command of gen3d.commands) expect(lines.some((line) => line.includes(` ${command.name()} `))).toBe(true);
});

test('every command, argument and option has a description, which its help shows', async () => {
  for (const command of allCommands(await completeProgram())) {
    const help = command.helpInformation().replace(/\s+/g, ' ');
    const texts = [command, ...command.registeredArguments, ...command.options, ...inheritedOptions(command)];
    for (const one of texts) {
      const description = 'summary' in one ? one.summary() || one.description() : one.description;
      expect(description, `${pathOf(command)}: ${one.name()}`).not.toBe('');
    }
    if (!command.parent) continue;
    for (const { description } of [...command.registeredArguments, ...command.options]) {
      expect(help, pathOf(command)).toContain(description.replace(/\s+/g, ' '));
    }
  }
});

test('the help of a command lists the values and the default of its options', async () => {
  const serve = (await completeProgram()).commands.find((command) => command.name() === 'serve');
  const help = serve?.helpInformation().replace(/\s+/g, ' ');
  expect(help).toContain('(GEN3D_PORT); default: 8787 ');
  expect(help).toContain('(GEN3D_DEVICE): auto, cpu, webgpu, cuda, coreml, dml; default: auto ');
  expect(help).toContain('(GEN3D_RATE_LIMIT); default: 50:100 ');
});
