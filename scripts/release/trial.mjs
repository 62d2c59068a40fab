import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { Failed, start, stop } from '../processes.mjs';
import { root } from '../repository.mjs';
import { listeningUrl } from '../throwaway-server.mjs';

/** The id of a user who owns no files. */
const otherUser = 65_534;

/**
 * Tries packages as a new user would: in empty folders, with an empty home folder, without the clone. As root, the
 * programs run as another user, who cannot read a clone of mode 0700. Prints each command with its seconds.
 *
 * @param {readonly string[]} tarballs
 * @param {import('../processes.mjs').AtEnd} atEnd
 * @returns the CycloneDX SBOM of what was installed
 * @throws {Failed} with the output of the command that failed
 */
export async function tryPackages(tarballs, atEnd) {
  const trial = new Trial();
  atEnd(() => rmSync(trial.folder, { recursive: true, force: true }));
  try {
    return await tryIn(trial, tarballs);
  } finally {
    await trial.stopServer();
  }
}

/**
 * @param {Trial} trial
 * @param {readonly string[]} tarballs
 */
async function tryIn(trial, tarballs) {
  const packages = trial.makeFolder('release');
  for (const tarball of tarballs) trial.copy(tarball, join(packages, basename(tarball)));
  const all = readdirSync(packages).map((name) => join('..', 'release', name));

  console.log('\nFrom an empty folder to the first model');
  const app = trial.makeFolder('app');
  trial.copy(join(root, 'examples/photos/coffee-cup.jpg'), join(app, 'photo.jpg'));
  trial.copy(join(root, 'examples/photos/toy-truck.png'), join(app, 'cutout.png'));
  const begun = performance.now();
  await trial.run('npm install ../release/*.tgz', ['npm', 'install', ...all], app);
  const url = await trial.serve(app);
  await trial.run('npx gen3d create photo.jpg --wait', ['npx', 'gen3d', 'create', 'photo.jpg', '--wait'], app);
  requireGlb(join(app, 'photo.glb'));
  console.log(`3 commands, ${secondsSince(begun)} to the first GLB`);

  console.log('\nThe rest of the trial');
  await trial.run('npx gen3d doctor', ['npx', 'gen3d', 'doctor'], app);
  reportScripts(app);
  await trySdk(trial, all, url);
  // An SBOM needs the name and version of its subject.
  await trial.run('npm pkg set', ['npm', 'pkg', 'set', 'name=gen3d-installation', 'version=0.0.0'], app);
  const { stdout } = await trial.run('npm sbom', ['npm', 'sbom', '--sbom-format', 'cyclonedx'], app);
  await trial.stopServer();

  rmSync(join(app, 'node_modules/@gen3d/model-isnet'), { recursive: true });
  await trial.serve(app);
  await trial.run('npx gen3d create cutout.png --wait', ['npx', 'gen3d', 'create', 'cutout.png', '--wait'], app);
  requireGlb(join(app, 'cutout.glb'));
  await trial.requireHint('create', ['npx', 'gen3d', 'create', 'photo.jpg', '--wait', '--force'], app);
  requireHint('gen3d serve', await trial.stopServer());
  return JSON.parse(stdout);
}

const hint = 'npm install @gen3d/model-isnet';

/**
 * @param {string} command
 * @param {string} output
 */
function requireHint(command, output) {
  if (!output.includes(hint)) throw new Failed(`Without IS-Net, ${command} does not mention "${hint}":\n${output}`);
}

class Trial {
  folder = mkdtempSync(join(tmpdir(), 'gen3d-trial-'));
  /** @type {import('../processes.mjs').Program | undefined} */
  #server;
  #asOther = process.platform === 'linux' && process.getuid?.() === 0;
  #env;

  constructor() {
    chmodSync(this.folder, 0o755);
    const home = this.makeFolder('home');
    // SQLite's addon is compiled where no prebuilt one can be downloaded. node-gyp would download the headers of Node,
    // which are often installed next to it.
    const prefix = dirname(dirname(process.execPath));
    const hasHeaders = existsSync(join(prefix, 'include/node/node.h'));
    const passed = [
      'SystemRoot',
      'HTTP_PROXY',
      'HTTPS_PROXY',
      'NO_PROXY',
      'NODE_EXTRA_CA_CERTS',
      'npm_config_registry',
    ];
    this.#env = {
      ...Object.fromEntries(passed.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
      PATH: (process.env.PATH ?? '')
        .split(delimiter)
        .filter((part) => !part.startsWith(root))
        .join(delimiter),
      HOME: home,
      USERPROFILE: home,
      TMPDIR: this.makeFolder('tmp'),
      GEN3D_PORT: '0',
      ...(hasHeaders && { npm_config_nodedir: prefix }),
    };
  }

  /** @param {string} name */
  makeFolder(name) {
    const path = join(this.folder, name);
    mkdirSync(path);
    this.#changeOwner(path);
    return path;
  }

  /**
   * @param {string} from
   * @param {string} to
   */
  copy(from, to) {
    copyFileSync(from, to);
    this.#changeOwner(to);
  }

  /**
   * @param {string} path
   * @param {string} text
   */
  write(path, text) {
    writeFileSync(path, text);
    this.#changeOwner(path);
  }

  /** @param {string} path */
  #changeOwner(path) {
    if (this.#asOther) chownSync(path, otherUser, otherUser);
  }

  /**
   * @param {readonly string[]} command
   * @param {string} cwd
   * @param {NodeJS.ProcessEnv} [env]
   */
  start([program = '', ...args], cwd, env = {}) {
    return start(program, args, {
      cwd,
      env: { ...this.#env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: true,
      ...(this.#asOther && { uid: otherUser, gid: otherUser }),
    });
  }

  /**
   * @param {string} label
   * @param {readonly string[]} command
   * @param {string} cwd
   * @param {NodeJS.ProcessEnv} [env]
   */
  async run(label, command, cwd, env) {
    const begun = performance.now();
    const { code, stdout, both } = await this.start(command, cwd, env).ended;
    if (code !== 0) throw new Failed(`${label} failed:\n${both}`);
    console.log(`${secondsSince(begun).padStart(8)}  ${label}`);
    return { stdout };
  }

  /** @param {string} app */
  async serve(app) {
    const begun = performance.now();
    this.#server = this.start(['npx', 'gen3d', 'serve'], app);
    const url = await listeningUrl(this.#server);
    console.log(`${secondsSince(begun).padStart(8)}  npx gen3d serve`);
    return url;
  }

  /** Returns the server's log. */
  async stopServer() {
    if (!this.#server) return '';
    await stop(this.#server);
    return this.#server.output.stderr;
  }

  /**
   * @param {string} label
   * @param {readonly string[]} command
   * @param {string} cwd
   */
  async requireHint(label, command, cwd) {
    const { code, both } = await this.start(command, cwd).ended;
    if (code !== 1) throw new Failed(`Without IS-Net, ${label} exits with ${code}:\n${both}`);
    requireHint(label, both);
  }
}

const secondsSince = (/** @type {number} */ begun) => `${((performance.now() - begun) / 1_000).toFixed(1)} s`;

/** @param {string} path */
function requireGlb(path) {
  const magic = Buffer.alloc(4);
  readSync(openSync(path, 'r'), magic);
  if (magic.toString() !== 'glTF' || statSync(path).size < 10_000) throw new Failed(`${path} is not a GLB`);
}

/**
 * Prints the packages that npm ran a script of. Each is a risk for an installation without a compiler or a network.
 *
 * @param {string} app
 */
function reportScripts(app) {
  const lock = JSON.parse(readFileSync(join(app, 'node_modules/.package-lock.json'), 'utf8'));
  /** @type {Array<[string, { hasInstallScript?: boolean }]>} */
  const packages = Object.entries(lock.packages);
  const names = packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => basename(name));
  console.log(`          ${packages.length} packages; with install scripts: ${names.join(', ') || 'none'}`);
  if (existsSync(join(app, 'node_modules/onnxruntime-node'))) throw new Failed('onnxruntime-node is installed');
}

/**
 * README's program as an ES module and with the compiler, and a CommonJS program, in a project of `npm init -y`.
 *
 * @param {Trial} trial
 * @param {readonly string[]} tarballs
 * @param {string} url
 */
async function trySdk(trial, tarballs, url) {
  const project = trial.makeFolder('sdk');
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const program = /```ts\n(.*?)```/s.exec(readme)?.[1]?.replace('http://127.0.0.1:8787', url) ?? '';
  trial.write(join(project, 'mug.mjs'), program);
  trial.write(join(project, 'mug.mts'), program);
  trial.write(
    join(project, 'mug.cjs'),
    `const { Gen3d } = require('@gen3d/sdk');
const gen3d = new Gen3d({ apiKey: process.env.GEN3D_API_KEY, baseUrl: '${url}' });
gen3d.generate('mug.jpg').then(({ status }) => console.log(status));\n`,
  );
  trial.write(
    join(project, 'mug.cts'),
    `import { Gen3d } from '@gen3d/sdk';\nexport const client: Gen3d = new Gen3d();\n`,
  );
  // Small enough for the public test key.
  trial.copy(join(root, 'examples/photos/painted-chair.jpg'), join(project, 'mug.jpg'));

  await trial.run('npm init -y', ['npm', 'init', '-y'], project);
  const sdk = tarballs.filter((path) => /gen3d-(schema|sdk)-/.test(path));
  await trial.run('npm install ../release/gen3d-{schema,sdk}-*.tgz', ['npm', 'install', ...sdk], project);
  const env = { GEN3D_API_KEY: 'gen3d_test_public' };
  await trial.run('SDK from an ES module: node mug.mjs', ['node', 'mug.mjs'], project, env);
  requireGlb(join(project, 'mug.glb'));
  await trial.run('SDK from CommonJS: node mug.cjs', ['node', 'mug.cjs'], project, env);
  const { typescript, '@types/node': nodeTypes } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ).devDependencies;
  const tools = [`typescript@${typescript}`, `@types/node@${nodeTypes}`];
  await trial.run('npm install --save-dev typescript @types/node', ['npm', 'install', '-D', ...tools], project);
  const compilerOptions = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
  const tsc = ['npx', 'tsc', ...compilerOptions, 'mug.mts', 'mug.cts'];
  await trial.run('SDK from TypeScript: npx tsc mug.mts mug.cts', tsc, project);
}
