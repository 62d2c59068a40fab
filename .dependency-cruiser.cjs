// The direction of imports, checked by `npm run lint`. docs/architecture.md explains the layers.

const { readdirSync } = require('node:fs');

/** Tests may start whole servers and look into other packages, so only the rule against cycles binds them. */
const tests = '\\.(test|fixture)\\.ts$|^packages/[^/]+/test/';

/**
 * One rule per layer of `folder`: it imports only from layers listed before it. Parts that share a layer do not import
 * each other.
 * @throws {Error} for a part that is not listed, which no rule would check
 */
function oneWay(folder, layers) {
  const unlisted = readdirSync(folder)
    .filter((name) => !/\.(test|fixture)\.ts$/.test(name))
    .map((name) => name.replace(/\.tsx?$/, ''))
    .filter((part) => !layers.flat().includes(part));
  if (unlisted.length > 0)
    throw new Error(`.dependency-cruiser.cjs lists no layer for ${folder}/${unlisted.join(', ')}`);
  const pattern = (parts) => `^${folder}/(${parts.join('|')})(/|\\.tsx?$)`;
  const rules = [];
  for (const [index, layer] of layers.entries()) {
    const above = layers.slice(index + 1).flat();
    const parts = [layer].flat();
    for (const part of parts) {
      const forbidden = [...parts.filter((other) => other !== part), ...above];
      if (forbidden.length === 0) continue;
      rules.push({
        name: `${folder}/${part} imports only from layers below it`,
        severity: 'error',
        from: { path: pattern([part]), pathNot: tests },
        to: { path: pattern(forbidden) },
      });
    }
  }
  return rules;
}

/** Matches a package as a folder, and by name in case it is not built and cannot be resolved. */
const packages = (...names) => `^(packages|@gen3d)/(${names.join('|')})(/|$)`;

function packageImportsOnly(name, allowed) {
  const all = ['schema', 'sdk', 'rpc', 'engine', 'weights', 'convert', 'dashboard', 'server', 'cli'];
  return {
    name: `packages/${name} imports ${allowed.length === 0 ? 'no other package' : `only ${allowed.join(', ')}`}`,
    severity: 'error',
    from: { path: `^packages/${name}/`, pathNot: tests },
    to: { path: packages(...all.filter((other) => other !== name && !allowed.includes(other))) },
  };
}

const server = 'packages/server/src';

module.exports = {
  forbidden: [
    { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },

    packageImportsOnly('schema', []),
    packageImportsOnly('sdk', ['schema']),
    packageImportsOnly('rpc', []),
    packageImportsOnly('engine', ['schema', 'rpc']),
    packageImportsOnly('weights', ['engine']),
    packageImportsOnly('convert', ['schema']),
    packageImportsOnly('dashboard', ['schema', 'sdk', 'convert']),
    packageImportsOnly('server', ['schema', 'rpc', 'engine', 'convert']),
    {
      name: 'only a child process of the server reads models',
      severity: 'error',
      from: { path: '^packages/server/', pathNot: [tests, '/model-reader-process\\.ts$'] },
      to: { path: packages('convert') },
    },
    packageImportsOnly('cli', ['schema', 'sdk', 'server', 'engine', 'weights', 'convert']),
    {
      name: 'packages/convert works in browsers',
      severity: 'error',
      from: { path: '^packages/convert/src/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'another package is imported by its name',
      severity: 'error',
      from: { path: '^packages/([^/]+)/', pathNot: tests },
      to: { path: '^packages/[^/]+/(src|test)/', pathNot: '^packages/$1/' },
    },
    {
      name: 'packages do not import scripts',
      severity: 'error',
      from: { path: '^packages/', pathNot: tests },
      to: { path: '^scripts/' },
    },
    {
      name: 'only the lab imports the lab',
      severity: 'error',
      from: { pathNot: '^models/lab/' },
      to: { path: '^models/lab/' },
    },
    {
      name: 'code does not import tests',
      severity: 'error',
      from: { path: '^packages/', pathNot: tests },
      to: { path: tests },
    },

    // config.ts is just above base/: its type describes the settings that every layer gets as a value. Only the top reads
    // and checks them.
    ...oneWay(server, [
      'base',
      'chosen-bundles',
      'config',
      'data',
      'work',
      'web',
      ['unknown-variables', 'parts', 'create-worker'],
      ['ports', 'missing-matte'],
      'server-context',
      ['serve', 'admin'],
      ['cluster', 'foreign'],
      'composition',
      'index',
    ]),
    {
      name: `${server}: core does not import edges`,
      severity: 'error',
      from: { path: `^${server}/`, pathNot: [tests, `^${server}/(cluster/|foreign/|(composition|index)\\.ts$)`] },
      to: { path: `^${server}/(cluster|foreign)/` },
    },
    {
      name: `${server}: only cluster/ knows PostgreSQL and S3`,
      severity: 'error',
      from: { path: `^${server}/`, pathNot: [tests, `^${server}/cluster/`] },
      to: { path: '(^|/)(pg|@aws-sdk)(/|$)' },
    },
    ...oneWay(`${server}/cluster`, ['markers', ['postgres', 's3'], 'identity', 'location', ['moving', 'worker']]),
    {
      name: `${server}: only the top loads the settings`,
      severity: 'error',
      from: { path: `^${server}/(base|data|work|web)/`, pathNot: tests },
      to: { path: `^${server}/(config|chosen-bundles)\\.ts$`, dependencyTypesNot: ['type-only'] },
    },
    {
      name: `${server}/data/db takes plain values, not settings`,
      severity: 'error',
      from: { path: `^${server}/data/db/`, pathNot: tests },
      to: { path: `^${server}/(config|chosen-bundles)\\.ts$` },
    },
    {
      name: `${server}: only web/ knows HTTP`,
      severity: 'error',
      from: { path: `^${server}/(base|data|work)/`, pathNot: tests },
      to: { path: '(^|/)(express|helmet)(/|$)' },
    },
    ...oneWay(`${server}/data`, [
      'db',
      ['inputs', 'assets', 'accounts', 'runners'],
      'webhooks',
      'jobs',
      'installation',
    ]),
    ...oneWay(`${server}/work`, [
      'bundles',
      'stage-failures',
      ['file-access', 'stage-outage'],
      ['preparation', 'runner', 'webhooks', 'housekeeping'],
      'children',
      'active-jobs',
      ['prepare', 'infer'],
      'worker',
    ]),
    ...oneWay(`${server}/web`, ['answers', 'metrics', 'mount', 'guards', 'routes', 'docs', 'dashboard', 'app']),

    {
      name: 'core does not import edges: only reconstructor.ts knows flow models and cameras to be found',
      severity: 'error',
      from: {
        path: '^packages/engine/src/',
        pathNot: `^packages/engine/src/(flow|camera)/|/reconstructor\\.ts$|${tests}`,
      },
      to: { path: '^packages/engine/src/(flow|camera)/' },
    },
    ...oneWay('packages/engine/src', [
      ['base', 'files'],
      ['gltf', 'render'],
      'bundle',
      'network',
      'photo',
      'field',
      'surface',
      'texture',
      'views',
      'device',
      ['camera', 'flow'],
      ['native-parts', 'part-thumbnails'],
      'reconstructor',
      'checks',
      ['engine', 'device-probe'],
      'pool',
      ['index', 'images', 'bundles', 'errors'],
    ]),

    ...oneWay('packages/weights/src', [
      'checkpoint',
      'skeleton',
      ['catalog', 'download'],
      ['source', 'fitting-bundles'],
      'pull',
      ['index', 'offers'],
    ]),
  ],
  options: {
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules|^packages/[^/]+/dist/' },
    // One second instead of 15, unless a file has changed.
    cache: { strategy: 'content' },
    enhancedResolveOptions: { conditionNames: ['types', 'import', 'default'], exportsFields: ['exports'] },
  },
};
