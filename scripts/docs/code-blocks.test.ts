import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { refusalOf } from './command-line.js';
import { type Block, pages, root } from './markdown.js';
import { commandsIn, type Words } from './shell-commands.js';

const all = pages();
const blocks = all.flatMap((page) => page.blocks);
const of = (...languages: readonly string[]) => blocks.filter(({ language }) => languages.includes(language));

const shells = ['sh', 'bash'];
// sdk.md holds signatures, which the compiler itself has printed.
const scripts = of('ts', 'tsx', 'js', 'mjs').filter(({ page }) => page !== 'docs/sdk.md');
/** Nothing here can check these; every other language must be named, so that a block is not passed over for a typo. */
const unchecked = [
  '',
  'text',
  'html',
  'css',
  'sql',
  'ini',
  'toml',
  'nginx',
  'caddyfile',
  'dockerfile',
  'promql',
  'http',
];

test('every block of code is in a language that is checked, or has none', () => {
  const known = [...shells, 'ts', 'tsx', 'js', 'mjs', 'json', 'yaml', 'python', 'go', ...unchecked];
  expect(
    blocks.filter(({ language }) => !known.includes(language)).map(({ place, language }) => `${place} ${language}`),
  ).toEqual([]);
  // A command in a block without a language would be checked by nobody.
  const commands = blocks.filter(
    ({ language, text }) => language === '' && /^(gen3d|npm|node|python3?|curl|git) /m.test(text),
  );
  expect(commands.map(({ place }) => place)).toEqual([]);
});

describe('the compiler', () => {
  const text = `import { Gen3d } from '@gen3d/sdk';\nnew Gen3d({ apiKei: '' });\nundeclared();`;
  const wrong: Block = { place: 'made-up.md:1', page: 'made-up.md', language: 'ts', text };
  let errors: string[];
  beforeAll(() => {
    errors = typeErrors([...scripts, wrong]);
    // The compiler reads the types of Node, the DOM and the server: seconds, and minutes where others work too.
  }, 300_000);

  test('takes every block of TypeScript and JavaScript, against the built packages', () => {
    expect(scripts.length).toBeGreaterThan(3);
    expect(errors.filter((error) => !error.startsWith(wrong.place))).toEqual([]);
  });

  test('refuses a field that is not there, and a name that was never made', () => {
    expect(errors.filter((error) => error.startsWith(wrong.place))).toEqual([
      expect.stringContaining('apiKei'),
      expect.stringContaining('undeclared'),
    ]);
  });
});

test('every block of shell is a script that bash can read', () => {
  expect(of(...shells).length).toBeGreaterThan(10);
  const problems = of(...shells).flatMap(({ place, text }) => {
    const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
    return status === 0 ? [] : [`${place} ${stderr.trim()}`];
  });
  expect(problems).toEqual([]);
});

test('every gen3d, npm and node command in a block of shell exists, with its options', async () => {
  const problems: string[] = [];
  for (const { place, page, text } of of(...shells)) {
    for (const words of commandsIn(text)) {
      const problem = await problemOf(words, page);
      if (problem) problems.push(`${place} ${words.join(' ')}: ${problem}`);
    }
  }
  expect(problems).toEqual([]);
});

test('every gen3d and npm command in a sentence exists, with its options', async () => {
  const problems: string[] = [];
  for (const { place, text } of all.flatMap(({ commands }) => commands)) {
    const words = text.split(/\s+/).map((word) => word.replace(/^\[|\]$/g, '').replace(/^([^'"]+?)\|.*/, '$1'));
    const problem = await problemOf(words, 'README.md', { inASentence: true });
    if (problem) problems.push(`${place} ${text}: ${problem}`);
  }
  expect(problems).toEqual([]);
});

test.each([
  ['gen3d crate mug.jpg', "unknown command 'crate'"],
  ['gen3d create mug.jpg --wiat', "unknown option '--wiat'"],
  ['gen3d create', "missing required argument 'image'"],
  ['gen3d serve --prot 0', "unknown option '--prot'"],
  ['GEN3D_PORT=0 gen3d serve 2> log | tee $(gen3d nowhere)', "unknown command 'nowhere'"],
  ['npm run nothing', 'no package has this script'],
  ['node scripts/nothing.mjs', 'there is no such file'],
])('%s would be found', async (command, problem) => {
  const problems = await Promise.all(commandsIn(command).map((words) => problemOf(words, 'README.md')));
  expect(problems.filter(Boolean).join()).toContain(problem);
});

test('every block of JSON and YAML can be read', () => {
  const problems = [
    ...of('json').flatMap(({ place, text }) => thrownBy(place, () => JSON.parse(text))),
    ...of('yaml').flatMap(({ place, text }) =>
      parseAllDocuments(text).flatMap(({ errors }) => errors.map(({ message }) => `${place} ${message}`)),
    ),
  ];
  expect(of('json').length).toBeGreaterThan(1);
  expect(problems).toEqual([]);
});

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) console.warn('NOT TESTED: the Python in the documentation, for want of python3 on this machine');

test.skipIf(!hasPython)('every block of Python compiles', () => {
  const compileAll = `
import ast, json, sys
for block in json.load(sys.stdin):
    try:
        ast.parse(block["text"])
    except SyntaxError as error:
        print(block["place"], error)
`;
  const found = execFileSync('python3', ['-c', compileAll], { input: JSON.stringify(of('python')), encoding: 'utf8' });
  expect(found).toBe('');
});

function thrownBy(place: string, act: () => void): string[] {
  try {
    act();
    return [];
  } catch (error) {
    return [`${place} ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** All blocks as the modules of one program; each stands by itself, as if it were pasted into a file. */
function typeErrors(blocks: readonly Block[]): string[] {
  const inPackage = (path: string) => [join(root, path)];
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    moduleDetection: ts.ModuleDetectionKind.Force,
    jsx: ts.JsxEmit.Preserve,
    allowJs: true,
    checkJs: true,
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    typeRoots: inPackage('node_modules/@types'),
    types: ['node'],
    paths: {
      '@gen3d/sdk': inPackage('packages/sdk/dist/index.d.ts'),
      '@gen3d/schema': inPackage('packages/schema/dist/index.d.ts'),
      '@gen3d/engine': inPackage('packages/engine/dist/index.d.ts'),
      '@gen3d/server': inPackage('packages/server/dist/index.d.ts'),
      express: inPackage('packages/server/node_modules/@types/express/index.d.ts'),
    },
  };
  const files = new Map(blocks.map((block, index) => [join(root, `scripts/block-${index}.${block.language}`), block]));
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path)?.text ?? readFile(path);
  host.getSourceFile = (path, version) => {
    const block = files.get(path);
    return block ? ts.createSourceFile(path, block.text, version) : getSourceFile(path, version);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line = file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    const place = file ? files.get(file.fileName)?.place : undefined;
    return `${place ?? file?.fileName}: line ${line} of the block: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

/** Why a command cannot be what its author meant; undefined for those that are not ours to judge. */
async function problemOf(words: Words, page: string, { inASentence = false } = {}): Promise<string | undefined> {
  const [command = '', ...args] = words;
  if (command === 'gen3d') return gen3dProblem(args, inASentence);
  if (command === 'npm') return npmProblem(args, inASentence);
  if (command === 'node' || command === 'python3') return fileProblem(args, page);
}

async function gen3dProblem(args: Words, inASentence: boolean): Promise<string | undefined> {
  // `gen3d COMMAND --help`, `gen3d admin ... --json`
  if (args.some((word) => word === '...') || /^[A-Z]+$/.test(args[0] ?? '')) return undefined;
  const refusal = await refusalOf(args);
  if (!refusal) return undefined;
  const placeholder = args.some((word) => /^[A-Z_]+$|\$/.test(word));
  if (refusal.code === 'commander.invalidArgument' && (placeholder || inASentence)) return undefined;
  // A sentence may name a command without its arguments.
  if (inASentence && /missing|excessArguments|help/i.test(refusal.code)) return undefined;
  return refusal.message;
}

const packageFiles = execFileSync('git', ['ls-files', '*package.json'], { cwd: root, encoding: 'utf8' }).split('\n');
const npmScripts = new Set(
  packageFiles
    .filter((path) => path && existsSync(join(root, path)))
    .flatMap((path) => Object.keys(JSON.parse(readFileSync(join(root, path), 'utf8')).scripts ?? {})),
);

async function npmProblem([verb = '', ...args]: Words, inASentence: boolean): Promise<string | undefined> {
  const script =
    verb === 'run' ? args.find((word) => !word.startsWith('-')) : /^(test|start)$/.test(verb) ? verb : undefined;
  if (script === undefined) return undefined;
  if (!npmScripts.has(script)) return 'no package has this script';
  const after = args.indexOf('--');
  return script === 'gen3d' && after >= 0 ? gen3dProblem(args.slice(after + 1), inASentence) : undefined;
}

/** A script that is run by its path; wherever a reader may stand, in the repository or beside the page. */
function fileProblem([path = '']: Words, page: string): string | undefined {
  if (!/^[\w./-]+\.(m?js|ts|py)$/.test(path)) return undefined;
  const places = [join(root, path.replace(/^(\.\.\/)+/, '')), join(root, dirname(page), path)];
  return places.some(existsSync) ? undefined : 'there is no such file';
}
