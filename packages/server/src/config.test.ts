import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../test/kit.js';
import { ConfigError } from './base/errors.js';
import { chooseBundles } from './chosen-bundles.js';
import { defaultDataDir, loadConfig, settings } from './config.js';

describe('settings', () => {
  test('have the documented defaults', () => {
    expect(loadConfig({}, { XDG_DATA_HOME: '/data' })).toMatchObject({
      host: '127.0.0.1',
      port: 8787,
      database: 'sqlite',
      workers: 1,
      bundle: 'gen3d-base',
      matte: 'isnet',
      device: 'auto',
      rateLimit: { perSecond: 50, burst: 100 },
      maxOpenJobs: 1_000,
      allowPrivateNetwork: false,
      noTestKey: false,
      webhookRetryDelays: [5, 300, 1800, 7200, 18_000],
      webhookPingDelay: 10,
    });
  });

  test('in a flag override variables, and variables override the file', () => {
    const file = { port: 1, host: 'file', bundle: 'file' };
    const env = { GEN3D_PORT: '2', GEN3D_HOST: 'variable' };
    expect(loadConfig({ port: '3', host: undefined }, env, file)).toMatchObject({
      port: 3,
      host: 'variable',
      bundle: 'file',
    });
  });

  test('for bundles: the choice of `gen3d models use` overrides the built-in default, and any other setting overrides it', async () => {
    const dataDir = temporaryFolder();
    await chooseBundles(dataDir, { bundle: 'chosen' });
    await chooseBundles(dataDir, { matte: 'chosen-matte' });
    const both = { bundle: 'chosen', matte: 'chosen-matte' };
    expect(loadConfig({ dataDir }, {})).toMatchObject(both);
    expect(loadConfig({}, { GEN3D_DATA_DIR: dataDir })).toMatchObject(both);
    expect(loadConfig({}, {}, { dataDir })).toMatchObject(both);
    expect(loadConfig({ dataDir }, {}, { bundle: 'file' })).toMatchObject({ ...both, bundle: 'file' });
    expect(loadConfig({ dataDir }, { GEN3D_BUNDLE: 'variable' })).toMatchObject({ ...both, bundle: 'variable' });
    expect(loadConfig({ dataDir, bundle: 'flag' }, { GEN3D_BUNDLE: 'variable' }).bundle).toBe('flag');
  });

  test('for bundles: an error names the file of a choice that is damaged', () => {
    const dataDir = temporaryFolder();
    mkdirSync(join(dataDir, 'models'));
    writeFileSync(join(dataDir, 'models', 'default.json'), '{ "bundle": 7 }');
    expect(() => loadConfig({ dataDir }, {})).toThrow(/models\/default\.json: .*bundle.*gen3d models use/s);
  });

  // Root can read every file.
  test.skipIf(process.platform === 'win32' || process.getuid?.() === 0)(
    'for bundles: an error about the data directory of another user names the user to run as',
    () => {
      const dataDir = temporaryFolder();
      chmodSync(dataDir, 0o000);
      onTestFinished(() => chmodSync(dataDir, 0o700));
      expect(() => loadConfig({ dataDir }, {})).toThrow(/Run gen3d as the user that owns/);
    },
  );

  test('come from the file that a flag or a variable names', () => {
    const path = join(temporaryFolder(), 'gen3d.json');
    writeFileSync(path, '{ "port": 1234 }');
    expect(loadConfig({ config: path }, {}).port).toBe(1234);
    expect(loadConfig({}, { GEN3D_CONFIG: path }).port).toBe(1234);
    writeFileSync(path, '{ "port": ');
    expect(() => loadConfig({ config: path }, {})).toThrow(ConfigError);
  });

  test('in variables are parsed by their type', () => {
    const env = {
      GEN3D_RATES: '{"g6e":0.002}',
      GEN3D_INSTANCE: 'g6e',
      GEN3D_WEBHOOK_RETRY_DELAYS: '0.1,1, 2',
      GEN3D_ALLOW_PRIVATE_NETWORK: 'true',
      GEN3D_NO_TEST_KEY: '1',
      GEN3D_RATE_LIMIT: '10:20',
      GEN3D_ALLOWED_HOST: 'localhost, gen3d.example.com',
      GEN3D_ASSETS_URL: 'https://cdn.example.com/models/',
      GEN3D_BUNDLE: '',
    };
    expect(loadConfig({}, env)).toMatchObject({
      rates: { g6e: 0.002 },
      webhookRetryDelays: [0.1, 1, 2],
      allowPrivateNetwork: true,
      noTestKey: true,
      rateLimit: { perSecond: 10, burst: 20 },
      allowedHost: ['localhost', 'gen3d.example.com'],
      assetsUrl: 'https://cdn.example.com/models',
      bundle: 'gen3d-base',
    });
    expect(loadConfig({ rateLimit: 'off' }, env).rateLimit).toBe('off');
  });

  test.each([
    ['port', 'http'],
    ['maxOpenJobs', '0'],
    ['maxOpenJobs', '1.5'],
    ['webhookRetryDelays', '1,,2'],
    ['webhookRetryDelays', '1,2,3,4,5,6'],
    ['publicUrl', 'ftp://example.com'],
    ['bootstrapApiKey', 'short'],
  ])('reject %s=%s with an error that names it', (key, value) => {
    expect(() => loadConfig({ [key]: value }, {})).toThrow(key);
  });

  test.each([
    ['rateLimit', '50', '50:100'],
    ['rates', 'cheap', '{"g6e":0.002}'],
    ['rates', '[1]', '{"g6e":0.002}'],
    ['webhookRetryDelays', '5,x', '5,300,1800'],
    ['webhookRetryDelays', [5, 'x'], '5,300,1800'],
    ['allowPrivateNetwork', 'maybe', 'true or false'],
    ['allowedHost', 'gpu-box:8787', 'without a port'],
    ['publicUrl', 'gpu-box:8787', 'https://gen3d.example.com'],
    ['publicUrl', 'http://gpu-box/?a=b', 'must not have a query or a fragment'],
    ['publicUrl', 'https://example.com/gen3d/', 'must not have a path, because the pages of the server'],
    ['assetsUrl', 'http://gpu-box/#models', 'must not have a query or a fragment'],
    ['bootstrapApiKey', 'gen3d_test_public', 'must not be the public test key'],
  ])('reject %s=%s with an error that says what is allowed', (key, value, hint) => {
    expect(() => loadConfig({ [key]: value }, {})).toThrow(hint);
    expect(() => loadConfig({ [key]: value }, {})).not.toThrow('Invalid input');
  });

  test.each([
    [
      'port',
      '70000',
      '--port (GEN3D_PORT; port in a config file) must be a whole number from 0 to 65535, but is "70000"',
    ],
    ['device', 'abacus', 'must be one of auto, cpu, webgpu, cuda, coreml, dml, but is "abacus"'],
    ['rates', { g6e: -1 }, 'such as {"g6e":0.002}, but is "{"g6e":-1}"'],
    ['host', 5, 'received number, but is "5"'],
    ['rateLimit', '\u001B[2J5\n0', 'such as 50:100, but is "[2J5 0"'],
    ['publicUrl', 'x'.repeat(500), `but is "${'x'.repeat(200)}…"`],
  ])('reject %s=%j with an error that shows the value', (key, value, text) => {
    expect(() => loadConfig({ [key]: value }, {})).toThrow(text);
  });

  test.each([
    ['serverKey', 'topsecret'],
    ['bootstrapApiKey', 'topsecret'],
    ['database', 'mysql://db/gen3d?password=topsecret'],
    ['database', 'postgres://user:topsecret@word@db:x/gen3d'],
    ['publicUrl', 'ftp://user:topsecret@gpu-box'],
    ['publicUrl', 'https://gpu-box/?token=topsecret'],
    ['assets', 'https://models.example.com/#topsecret'],
  ])('reject %s=%s without showing what may be a credential', (key, value) => {
    const load = () => loadConfig({ [key]: value }, {});
    expect(load).toThrow(`${key} in a config file) must `);
    expect(load).not.toThrow('topsecret');
  });

  test('for S3: use the endpoint of the AWS tools unless gen3d has its own', () => {
    const assets = 's3://models/gen3d';
    const env = { AWS_ENDPOINT_URL: 'http://any:1', AWS_ENDPOINT_URL_S3: 'http://minio:9000' };
    expect(loadConfig({ assets }, {})).toMatchObject({ assets });
    expect(loadConfig({ assets }, {}).s3Endpoint).toBeUndefined();
    expect(loadConfig({ assets }, env)).toMatchObject({ s3Endpoint: 'http://minio:9000' });
    const own = { ...env, GEN3D_S3_ENDPOINT: 'https://s3.example.com/', GEN3D_S3_FORCE_PATH_STYLE: 'false' };
    expect(loadConfig({ assets }, own)).toMatchObject({
      s3Endpoint: 'https://s3.example.com',
      s3ForcePathStyle: false,
    });
    expect(loadConfig({}, env).s3Endpoint).toBeUndefined();
  });

  test('for S3 are rejected without a valid bucket name, or with credentials in the endpoint', () => {
    expect(() => loadConfig({ assets: 's3://Bucket/a b' }, {})).toThrow('must be a folder, or s3://BUCKET');
    const load = () => loadConfig({}, { GEN3D_S3_ENDPOINT: 'http://key:topsecret@minio:9000' });
    expect(load).toThrow('must not contain credentials');
    expect(load).not.toThrow('topsecret');
  });

  test.each(['s3:/models/gen3d', 's3:models', 'S3://models', 'https://models.example.com', 'gs://models'])(
    'reject %s as the assets folder',
    (assets) => {
      expect(() => loadConfig({ assets }, {})).toThrow(
        `--assets (GEN3D_ASSETS; assets in a config file) must be s3://BUCKET/PREFIX or a folder (write ./NAME for a NAME with a colon), but is "${assets}"`,
      );
    },
  );

  test('accept any path as the assets folder', () => {
    expect(loadConfig({ assets: './s3:models' }, {}).assets).toMatch(/s3:models$/);
    expect(loadConfig({ assets: 's3://models/gen3d' }, {}).assets).toBe('s3://models/gen3d');
  });

  test('accept a server key only with PostgreSQL', () => {
    const serverKey = '0'.repeat(64);
    expect(() => loadConfig({}, { GEN3D_SERVER_KEY: serverKey })).toThrow('GEN3D_SERVER_KEY is for PostgreSQL');
    const env = { GEN3D_SERVER_KEY: serverKey, GEN3D_DATABASE: 'postgres://db/gen3d' };
    expect(loadConfig({}, env)).toMatchObject({ serverKey });
  });

  test('that do not exist are rejected in the file and ignored among the flags', () => {
    expect(() => loadConfig({}, {}, { prot: 1 })).toThrow('No setting has the name "prot"');
    expect(loadConfig({ json: true }, {})).not.toHaveProperty('json');
  });

  test('reject an instance without a rate', () => {
    expect(() => loadConfig({}, {}, { rates: { g6e: 1 }, instance: 'g7e' })).toThrow('g7e');
  });

  test('all have a description, and a variable named like their flag', () => {
    for (const { description, flag, variable } of settings) {
      expect(description).not.toBe('');
      if (flag) expect(variable).toBe(`GEN3D_${flag.slice(2).replaceAll('-', '_').toUpperCase()}`);
    }
    expect(settings.find(({ key }) => key === 'dataDir')).toMatchObject({
      flag: '--data-dir',
      variable: 'GEN3D_DATA_DIR',
    });
  });
});

test('the default data directory follows the conventions of each platform', () => {
  expect(defaultDataDir({ XDG_DATA_HOME: '/data' }, 'linux')).toBe('/data/gen3d');
  expect(defaultDataDir({}, 'linux')).toMatch(/\.local\/share\/gen3d$/);
  expect(defaultDataDir({}, 'darwin')).toMatch(/Library\/Application Support\/gen3d$/);
});
