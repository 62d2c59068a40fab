import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../test/kit.js';
import { ConfigError } from './base/errors.js';
import { chooseModels } from './chosen-models.js';
import { defaultDataDir, loadConfig, settings } from './config.js';

describe('settings', () => {
  test('have the defaults that the design names', () => {
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

  test('from a flag beat those from a variable, which beat those from the file', () => {
    const file = { port: 1, host: 'file', bundle: 'file' };
    const env = { GEN3D_PORT: '2', GEN3D_HOST: 'variable' };
    expect(loadConfig({ port: '3', host: undefined }, env, file)).toMatchObject({
      port: 3,
      host: 'variable',
      bundle: 'file',
    });
  });

  test('of models: the chosen ones beat the built-in defaults, and everything else beats them', async () => {
    const dataDir = temporaryFolder();
    await chooseModels(dataDir, { bundle: 'chosen' });
    await chooseModels(dataDir, { matte: 'chosen-matte' });
    const both = { bundle: 'chosen', matte: 'chosen-matte' };
    expect(loadConfig({ dataDir }, {})).toMatchObject(both);
    expect(loadConfig({}, { GEN3D_DATA_DIR: dataDir })).toMatchObject(both);
    expect(loadConfig({}, {}, { dataDir })).toMatchObject(both);
    expect(loadConfig({ dataDir }, {}, { bundle: 'file' })).toMatchObject({ ...both, bundle: 'file' });
    expect(loadConfig({ dataDir }, { GEN3D_BUNDLE: 'variable' })).toMatchObject({ ...both, bundle: 'variable' });
    expect(loadConfig({ dataDir, bundle: 'flag' }, { GEN3D_BUNDLE: 'variable' }).bundle).toBe('flag');
  });

  test('of models: a damaged choice is named', () => {
    const dataDir = temporaryFolder();
    mkdirSync(join(dataDir, 'models'));
    writeFileSync(join(dataDir, 'models', 'default.json'), '{ "bundle": 7 }');
    expect(() => loadConfig({ dataDir }, {})).toThrow(/models\/default\.json: .*bundle.*gen3d models use/s);
  });

  test('are read from the file that a flag or a variable names', () => {
    const path = join(temporaryFolder(), 'gen3d.json');
    writeFileSync(path, '{ "port": 1234 }');
    expect(loadConfig({ config: path }, {}).port).toBe(1234);
    expect(loadConfig({}, { GEN3D_CONFIG: path }).port).toBe(1234);
    writeFileSync(path, '{ "port": ');
    expect(() => loadConfig({ config: path }, {})).toThrow(ConfigError);
  });

  test('in variables are read by their kind', () => {
    const env = {
      GEN3D_RATES: '{"g6e":0.002}',
      GEN3D_INSTANCE: 'g6e',
      GEN3D_WEBHOOK_RETRY_DELAYS: '0.1,1, 2',
      GEN3D_ALLOW_PRIVATE_NETWORK: 'true',
      GEN3D_NO_TEST_KEY: '1',
      GEN3D_RATE_LIMIT: '10:20',
      GEN3D_ASSETS_URL: 'https://cdn.example.com/models/',
      GEN3D_BUNDLE: '',
    };
    expect(loadConfig({}, env)).toMatchObject({
      rates: { g6e: 0.002 },
      webhookRetryDelays: [0.1, 1, 2],
      allowPrivateNetwork: true,
      noTestKey: true,
      rateLimit: { perSecond: 10, burst: 20 },
      assetsUrl: 'https://cdn.example.com/models',
      bundle: 'gen3d-base',
    });
    expect(loadConfig({ rateLimit: 'off' }, env).rateLimit).toBe('off');
  });

  test.each([
    ['port', '70000'],
    ['port', 'http'],
    ['rateLimit', '50'],
    ['maxOpenJobs', '0'],
    ['maxOpenJobs', '1.5'],
    ['device', 'abacus'],
    ['rates', '{"g6e":-1}'],
    ['rates', 'cheap'],
    ['webhookRetryDelays', '1,,2'],
    ['webhookRetryDelays', '1,2,3,4,5,6'],
    ['publicUrl', 'ftp://example.com'],
    ['bootstrapApiKey', 'short'],
  ])('refuse %s=%s and name it', (key, value) => {
    expect(() => loadConfig({ [key]: value }, {})).toThrow(key);
  });

  test.each([
    ['rateLimit', '50', '50:100'],
    ['rates', 'cheap', '{"g6e":0.002}'],
    ['rates', '[1]', '{"g6e":0.002}'],
    ['webhookRetryDelays', '5,x', '5,300,1800'],
    ['webhookRetryDelays', [5, 'x'], '5,300,1800'],
    ['allowPrivateNetwork', 'maybe', 'true or false'],
    ['publicUrl', 'gpu-box:8787', 'https://gen3d.example.com'],
    ['publicUrl', 'http://gpu-box/?a=b', 'must not have a query or a fragment'],
    ['assetsUrl', 'http://gpu-box/#models', 'must not have a query or a fragment'],
    ['bootstrapApiKey', 'gen3d_test_public', 'must not be the public test key'],
  ])('refuse %s=%s in words that say what would do', (key, value, hint) => {
    expect(() => loadConfig({ [key]: value }, {})).toThrow(hint);
    expect(() => loadConfig({ [key]: value }, {})).not.toThrow('Invalid input');
  });

  test('of S3: a bucket and prefix, and the endpoint that other tools of AWS use unless there is one of our own', () => {
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

  test('of S3 that name no bucket, or hold credentials, are refused', () => {
    expect(() => loadConfig({ assets: 's3://Bucket/a b' }, {})).toThrow('must be a folder, or s3://BUCKET');
    const refuse = () => loadConfig({}, { GEN3D_S3_ENDPOINT: 'http://key:topsecret@minio:9000' });
    expect(refuse).toThrow('must not contain credentials');
    expect(refuse).not.toThrow('topsecret');
  });

  test('with a password in them are refused without repeating it', () => {
    const refuse = () => loadConfig({ database: 'postgres://user:pass@word@db:x/gen3d' }, {});
    expect(refuse).toThrow('must be a URL such as postgres://');
    expect(refuse).not.toThrow('word@');
  });

  test.each(['s3:/models/gen3d', 's3:models', 'S3://models', 'https://models.example.com', 'gs://models'])(
    'take %s for no folder of models',
    (assets) => {
      expect(() => loadConfig({ assets }, {})).toThrow(
        `--assets (GEN3D_ASSETS; assets in a config file) must be a folder or s3://BUCKET/PREFIX, and "${assets}" is neither`,
      );
    },
  );

  test('take a folder of models by any path', () => {
    expect(loadConfig({ assets: './s3:models' }, {}).assets).toMatch(/s3:models$/);
    expect(loadConfig({ assets: 's3://models/gen3d' }, {}).assets).toBe('s3://models/gen3d');
  });

  test('give a server key only where servers share a database', () => {
    const serverKey = '0'.repeat(64);
    expect(() => loadConfig({}, { GEN3D_SERVER_KEY: serverKey })).toThrow('GEN3D_SERVER_KEY is for PostgreSQL');
    const env = { GEN3D_SERVER_KEY: serverKey, GEN3D_DATABASE: 'postgres://db/gen3d' };
    expect(loadConfig({}, env)).toMatchObject({ serverKey });
  });

  test('that nobody knows are refused in the file and ignored among the flags', () => {
    expect(() => loadConfig({}, {}, { prot: 1 })).toThrow('prot');
    expect(loadConfig({ json: true }, {})).not.toHaveProperty('json');
  });

  test('name an instance that the rates know', () => {
    expect(() => loadConfig({}, {}, { rates: { g6e: 1 }, instance: 'g7e' })).toThrow('g7e');
  });

  test('are all described, and have a variable of the same name as their flag', () => {
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

test('the data directory is where each platform keeps the data of applications', () => {
  expect(defaultDataDir({ XDG_DATA_HOME: '/data' }, 'linux')).toBe('/data/gen3d');
  expect(defaultDataDir({}, 'linux')).toMatch(/\.local\/share\/gen3d$/);
  expect(defaultDataDir({}, 'darwin')).toMatch(/Library\/Application Support\/gen3d$/);
});
