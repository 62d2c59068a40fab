// Compares the files for containers and systemd with gen3d: their settings, commands, paths and stages exist.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settings } from '@gen3d/server';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { completeProgram } from '../src/program.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const composeFiles = ['compose.yaml', 'compose.cluster.yaml', 'deploy/compose/cuda.yaml'];
const units = readdirSync(join(root, 'deploy/systemd'))
  .map((name) => `deploy/systemd/${name}`)
  .filter((path) => path.endsWith('.service'));
const files = ['Dockerfile', 'deploy/systemd/gen3d.env', ...composeFiles, ...units];

interface Service {
  readonly command?: readonly string[];
  readonly build?: string | { readonly target?: string };
  readonly image?: string;
  readonly volumes?: readonly string[];
}
const services = composeFiles.flatMap((path) => {
  const file: { services: Record<string, Service>; volumes?: object } = parse(read(path), { merge: true });
  return Object.values(file.services).map((service) => ({ path, named: Object.keys(file.volumes ?? {}), ...service }));
});
const gen3d = JSON.parse(read('packages/cli/package.json')).bin.gen3d.replace('./', 'node_modules/gen3d/');
const stages = [...read('Dockerfile').matchAll(/^FROM \S+ AS (\S+)$/gm)].map(([, name]) => name);

test('all settings in deployment files exist', () => {
  const known = new Set([...settings.map(({ variable }) => variable), 'GEN3D_CONFIG', 'GEN3D_CONFIG_DIR']);
  const named = files.flatMap((path) => read(path).match(/\bGEN3D_[A-Z0-9_]+\b/g) ?? []);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

describe('commands in deployment files', async () => {
  const program = await completeProgram();
  const commands: [string, readonly string[]][] = [
    ...[...read('Dockerfile').matchAll(/^CMD (.*)$/gm)].map(([, args = '']): [string, string[]] => [
      'Dockerfile',
      JSON.parse(args),
    ]),
    ...services.flatMap(({ path, command, image }): [string, readonly string[]][] =>
      command && image?.startsWith('gen3d') ? [[path, command]] : [],
    ),
    ...units.map((path): [string, string[]] => [
      path,
      read(path).split(`\nExecStart=/usr/bin/node /opt/gen3d/${gen3d} `)[1]?.split('\n')[0]?.split(' ') ?? [],
    ]),
  ];
  expect(commands.length).toBeGreaterThan(4);

  test.each(commands)('%s: gen3d %o is valid', (_, [name = '', ...args]) => {
    const command = program.commands.find((one) => one.name() === name);
    expect(command?.options.length).toBeGreaterThan(0);
    for (let index = 0; index < args.length; index += 1) {
      const option = command?.options.find(({ short, long }) => [short, long].includes(args[index]));
      expect(option, args[index]).toBeDefined();
      if (!option?.required) continue;
      index += 1;
      if (option.argChoices) expect(option.argChoices).toContain(args[index]);
      else expect(args[index]).toMatch(/^[^-]/);
    }
  });
});

test('the Dockerfile copies existing files, uses the path of the command, and runs as an unprivileged user', () => {
  const text = read('Dockerfile');
  expect(stages).toEqual(['build', 'cuda-libraries', 'cuda', 'cpu']);
  expect(text).toContain(`ln -s /app/${gen3d} /usr/local/bin/gen3d`);
  expect(text.match(/^USER 10001:10001$/gm)).toHaveLength(2);
  const included = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'));
  expect(included.length).toBeGreaterThan(5);
  for (const line of included) expect(existsSync(join(root, line.slice(1).replace('/*/', '/node-script/')))).toBe(true);
});

test('images of others are named by digest', () => {
  const bases = [...read('Dockerfile').matchAll(/^FROM (\S*[:/]\S*)/gm)].map(([, image]) => image);
  const images = [...bases, ...services.flatMap(({ image }) => image ?? [])].filter(
    (image) => !image?.startsWith('gen3d:'),
  );
  expect(images).toHaveLength(6);
  for (const image of images) expect(image).toMatch(/:[\w.-]+@sha256:[0-9a-f]{64}$/);
});

test('services refer to existing volumes, files and stages', () => {
  for (const { path, build, named, volumes = [] } of services) {
    if (typeof build === 'object') expect(stages, path).toContain(build.target);
    for (const [source = ''] of volumes.map((volume) => volume.split(':'))) {
      if (source.startsWith('.')) expect(existsSync(join(root, source)), source).toBe(true);
      else expect(named, path).toContain(source);
    }
  }
});

test('all grace periods are longer than the drain of the server', () => {
  const graces = [...composeFiles, ...units].flatMap((path) => [
    ...read(path).matchAll(/stop_grace_period: (\d+)s|^TimeoutStopSec=(\d+)$/gm),
  ]);
  expect(graces).toHaveLength(4);
  expect(read('packages/server/src/parts.ts')).toContain('drainGraceMs = 30_000');
  for (const [, compose, systemd] of graces) expect(Number(compose ?? systemd)).toBeGreaterThanOrEqual(45);
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
test.skipIf(!hasSystemd)('systemd-analyze reports no problems of the units', () => {
  for (const path of units) {
    const args = ['verify', '--man=no', join(root, path)];
    const { stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    // The machine of the tests may not have Node at this path.
    const problems = stderr.split('\n').filter((line) => line && !/\/usr\/bin\/node is not executable/.test(line));
    expect({ path, problems }).toEqual({ path, problems: [] });
  }
});
