import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type Block, pages, root } from './markdown.js';
import { commandsIn, refusalOf, type Words } from './shell-commands.js';

const all = pages();
const blocks = all.flatMap((page) => page.blocks);
const of = (...languages: readonly string[]) => blocks.filter(({ language }) => languages.includes(language));

const shells = ['sh', 'bash'];
// sdk.md has signatures that the compiler has printed.
const scripts = of('ts', 'tsx', 'js', 'mjs').filter(({ page }) => page !== 'docs/sdk.md');
/** Languages without a check. Others must be listed here or in the test below, so that a typo does not disable a check. */
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

test('every code block is in a known language', () => {
  const known = [...shells, 'ts', 'tsx', 'js', 'mjs', 'json', 'yaml', 'python', 'go', ...unchecked];
  expect(
    blocks
      .filter(({ language }) => !known.includes(language))
      .map(({ location, language }) => `${location} ${language}`),
  ).toEqual([]);
  // Commands in a block without a language would not be checked.
  const commands = blocks.filter(
    ({ language, text }) => language === '' && /^(gen3d|npm|node|python3?|curl|git) /m.test(text),
  );
  expect(commands.map(({ location }) => location)).toEqual([]);
});

describe('the compiler', () => {
  const text = `import { Gen3d } from '@gen3d/sdk';\nnew Gen3d({ apiKei: '' });\nundeclared();`;
  const wrong: Block = { location: 'example.md:1', page: 'example.md', language: 'ts', text };
  let errors: string[];
  beforeAll(() => {
    errors = typeErrors([...scripts, ...docExamples(), wrong]);
  });

  test('accepts every block of TypeScript and JavaScript, and every @example', () => {
    expect(scripts.length).toBeGreaterThan(3);
    expect(docExamples().length).toBeGreaterThanOrEqual(25);
    expect(errors.filter((error) => !error.startsWith(wrong.location))).toEqual([]);
  });

  test('rejects an unknown field and an undeclared name', () => {
    expect(errors.filter((error) => error.startsWith(wrong.location))).toEqual([
      expect.stringContaining('apiKei'),
      expect.stringContaining('undeclared'),
    ]);
  });
});

test('every shell block is valid bash', () => {
  expect(of(...shells).length).toBeGreaterThan(10);
  const problems = of(...shells).flatMap(({ location, text }) => {
    const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
    return status === 0 ? [] : [`${location} ${stderr.trim()}`];
  });
  expect(problems).toEqual([]);
});

test('every gen3d, npm and node command in a shell block exists, with its options', async () => {
  const problems: string[] = [];
  for (const { location, page, text } of of(...shells)) {
    for (const words of commandsIn(text)) {
      const problem = await problemOf(words, page);
      if (problem) problems.push(`${location} ${words.join(' ')}: ${problem}`);
    }
  }
  expect(problems).toEqual([]);
});

test('every gen3d and npm command in inline code exists, with its options', async () => {
  const problems: string[] = [];
  for (const { location, text } of all.flatMap(({ commands }) => commands)) {
    const words = text.split(/\s+/).map((word) => word.replace(/^\[|\]$/g, '').replace(/^([^'"]+?)\|.*/, '$1'));
    const problem = await problemOf(words, 'README.md', { inline: true });
    if (problem) problems.push(`${location} ${text}: ${problem}`);
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
  ['node scripts/nothing.mjs', 'the file does not exist'],
])('%s would be reported', async (command, problem) => {
  const problems = await Promise.all(commandsIn(command).map((words) => problemOf(words, 'README.md')));
  expect(problems.filter(Boolean).join()).toContain(problem);
});

test('every JSON and YAML block is valid', () => {
  const problems = [
    ...of('json').flatMap(({ location, text }) => thrownBy(location, () => JSON.parse(text))),
    ...of('yaml').flatMap(({ location, text }) =>
      parseAllDocuments(text).flatMap(({ errors }) => errors.map(({ message }) => `${location} ${message}`)),
    ),
  ];
  expect(of('json').length).toBeGreaterThan(1);
  expect(problems).toEqual([]);
});

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) console.warn('SKIPPED: the Python in the documentation, because python3 was not found');

test.skipIf(!hasPython)('every Python block compiles', () => {
  const compileAll = `
import ast, json, sys
for block in json.load(sys.stdin):
    try:
        ast.parse(block["text"])
    except SyntaxError as error:
        print(block["location"], error)
`;
  const found = execFileSync('python3', ['-c', compileAll], { input: JSON.stringify(of('python')), encoding: 'utf8' });
  expect(found).toBe('');
});

function thrownBy(location: string, act: () => void): string[] {
  try {
    act();
    return [];
  } catch (error) {
    return [`${location} ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** Names that an `@example` uses without declaring them, and their types. */
const given: Readonly<Record<string, string>> = {
  ...{ apiKey: 'string', secret: 'string', jobId: 'string', file: 'File', request: 'Request' },
  ...{ photo: 'Uint8Array', photos: 'Uint8Array[]', glb: 'Uint8Array', preview: 'HTMLImageElement' },
  gen3d: "import('@gen3d/sdk').Gen3d",
  engine: "import('@gen3d/engine').Engine",
  app: "import('express').Express",
  decodeTexture: "import('@gen3d/convert').DecodeTexture",
  nodeTools: "typeof import('@gen3d/convert/node').nodeTools",
  parseLength: "typeof import('@gen3d/convert/options').parseLength",
  readFile: "typeof import('node:fs/promises').readFile",
  writeFile: "typeof import('node:fs/promises').writeFile",
};

/** The examples in the doc comments of the packages for programs. Each is a module that imports what it uses. */
function docExamples(): Block[] {
  return ['sdk', 'engine', 'convert'].flatMap((name) => {
    const types = readFileSync(join(root, `packages/${name}/dist/index.d.ts`), 'utf8');
    const exported = [...types.matchAll(/export \{([^}]*)\}/g)].flatMap(
      ([, list = '']) => list.match(/\w+(?=,|\s*$)/g) ?? [],
    );
    const files = execFileSync('git', ['ls-files', `packages/${name}/src/**.ts`], { cwd: root, encoding: 'utf8' });
    return files
      .trim()
      .split('\n')
      .flatMap((page) => {
        const source = readFileSync(join(root, page), 'utf8');
        return [...source.matchAll(/@example\n((?: *\* (?!@).*\n)+)/g)].map(([, comment = ''], index) => {
          const code = comment.replaceAll(/^ *\* /gm, '');
          const uses = (word: string) => new RegExp(`\\b${word}\\b`).test(code);
          const isDeclared = (word: string) => new RegExp(`const (\\{[^}]*)?\\b${word}\\b`).test(code);
          const imports = `import { ${exported.filter(uses).join(', ')} } from '@gen3d/${name}';`;
          const declared = Object.entries(given)
            .filter(([word]) => uses(word) && !isDeclared(word))
            .map(([word, type]) => `declare const ${word}: ${type};`);
          const text = [imports, ...declared, code].join('\n');
          return { location: `${page} example ${index + 1}`, page, language: 'ts', text };
        });
      });
  });
}

/** Compiles all blocks as separate modules of one program. */
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
      '@gen3d/convert/node': inPackage('packages/convert/dist/node.d.ts'),
      '@gen3d/engine': inPackage('packages/engine/dist/index.d.ts'),
      '@gen3d/convert': inPackage('packages/convert/dist/index.d.ts'),
      '@gen3d/convert/options': inPackage('packages/convert/dist/options.d.ts'),
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
    const location = file ? files.get(file.fileName)?.location : undefined;
    return `${location ?? file?.fileName}: line ${line} of the block: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

/** The problem of a command. Undefined for correct and for unknown commands. */
async function problemOf(words: Words, page: string, { inline = false } = {}): Promise<string | undefined> {
  const [command = '', ...args] = words;
  if (command === 'gen3d') return gen3dProblem(args, inline);
  if (command === 'npm') return npmProblem(args, inline);
  if (command === 'node' || command === 'python3') return fileProblem(args, page);
}

async function gen3dProblem(args: Words, inline: boolean): Promise<string | undefined> {
  // `gen3d COMMAND --help`, `gen3d admin ... --json`
  if (args.some((word) => word === '...') || /^[A-Z]+$/.test(args[0] ?? '')) return undefined;
  const refusal = await refusalOf(args);
  if (!refusal) return undefined;
  const placeholder = args.some((word) => /^[A-Z_]+$|\$/.test(word));
  if (refusal.code === 'commander.invalidArgument' && (placeholder || inline)) return undefined;
  // Inline code may name a command without its arguments.
  if (inline && /missing|excessArguments|help/i.test(refusal.code)) return undefined;
  return refusal.message;
}

const packageFiles = execFileSync('git', ['ls-files', '*package.json'], { cwd: root, encoding: 'utf8' }).split('\n');
const npmScripts = new Set(
  packageFiles
    .filter((path) => path && existsSync(join(root, path)))
    .flatMap((path) => Object.keys(JSON.parse(readFileSync(join(root, path), 'utf8')).scripts ?? {})),
);

async function npmProblem([verb = '', ...args]: Words, inline: boolean): Promise<string | undefined> {
  const script =
    verb === 'run' ? args.find((word) => !word.startsWith('-')) : /^(test|start)$/.test(verb) ? verb : undefined;
  if (script === undefined) return undefined;
  if (!npmScripts.has(script)) return 'no package has this script';
  const after = args.indexOf('--');
  return script === 'gen3d' && after >= 0 ? gen3dProblem(args.slice(after + 1), inline) : undefined;
}

/** For a script that is run by its path, relative to the repository or to the page. */
function fileProblem([path = '']: Words, page: string): string | undefined {
  if (!/^[\w./-]+\.(m?js|ts|py)$/.test(path)) return undefined;
  const candidates = [join(root, path.replace(/^(\.\.\/)+/, '')), join(root, dirname(page), path)];
  return candidates.some(existsSync) ? undefined : 'the file does not exist';
}
