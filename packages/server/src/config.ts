import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { meshDefaults } from '@gen3d/engine/bundles';
import { limits, oneLine, publicTestKey, quoted, trimmed } from '@gen3d/schema';
import { z } from 'zod';
import { ConfigError, errorMessage } from './base/errors.js';
import { maxUsd } from './base/money.js';
import { isS3Url, parseS3Url } from './base/s3-url.js';
import { type BundleChoice, bundleChoicePath, readBundleChoice } from './chosen-bundles.js';

// All settings, in one table: the flag, the variable, the key in the config file, the help text and
// docs/configuration.md follow from a row. A flag beats a variable, and a variable beats the file; a bad value stops
// the start with a sentence. No other part of the server reads the environment.

/** Returns the platform's folder for application data. */
export function defaultDataDir(env: NodeJS.ProcessEnv = process.env, platform = process.platform): string {
  if (platform === 'win32') return join(env.LOCALAPPDATA || join(home(), 'AppData', 'Local'), 'gen3d', 'Data');
  if (platform === 'darwin') return join(home(), 'Library', 'Application Support', 'gen3d');
  return join(env.XDG_DATA_HOME || join(home(), '.local', 'share'), 'gen3d');
}

/** Users of containers, build sandboxes and batch systems may have neither HOME nor an entry in the list of users. */
function home(): string {
  try {
    return homedir();
  } catch (cause) {
    throw new ConfigError('This user has no home folder. Set HOME or GEN3D_DATA_DIR', { cause });
  }
}

const flag = z.union([z.boolean(), z.stringbool()], { error: 'must be true or false' });
const folder = z
  .string()
  .min(1)
  .transform((path) => resolve(path));
const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL, such as https://gen3d.example.com' })
  // Paths are appended to it.
  .refine((url) => !/[?#]/.test(url), 'must not have a query or a fragment')
  .transform((url) => url.replace(/\/+$/, ''));
/** Has one message with all requirements, whichever of them a value violates. */
function number(kind: 'number' | 'whole number', min: number, max = Number.POSITIVE_INFINITY) {
  const range = max === Number.POSITIVE_INFINITY ? `of at least ${min}` : `from ${min} to ${max}`;
  const error = `must be a ${kind} ${range}`;
  const value = z.coerce.number({ error }).min(min, { error }).max(max, { error });
  return kind === 'number' ? value : value.int({ error });
}

const usd = number('number', 0, maxUsd);
const seconds = number('number', 0);

const rateLimit = z.union(
  [
    z.literal('off'),
    z
      .string()
      .regex(/^[1-9]\d{0,6}:[1-9]\d{0,6}$/)
      .transform((text) => {
        const [perSecond, burst] = text.split(':').map(Number) as [number, number];
        return { perSecond, burst };
      }),
  ],
  { error: 'must be off or REQUESTS_PER_SECOND:BURST, such as 50:100' },
);

const ratesError = 'must be prices in USD by serving instance, such as {"g6e":0.002}';
/** A variable contains JSON, the file contains an object. */
const rates = z
  .union(
    [
      z.string().transform((text, context) => {
        try {
          return JSON.parse(text) as unknown;
        } catch {
          context.addIssue({ code: 'custom', message: ratesError });
          return z.NEVER;
        }
      }),
      z.record(z.string(), z.unknown()),
    ],
    { error: ratesError },
  )
  .pipe(
    z.record(z.string().min(1), z.number({ error: ratesError }).min(0, { error: ratesError }), { error: ratesError }),
  );

const delaysError = `must be at most ${limits.webhookRetries} numbers of seconds, such as 5,300,1800`;
const retryDelays = z
  .union(
    [
      z.string().transform((text) => text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)))),
      z.array(z.number()),
    ],
    { error: delaysError },
  )
  .pipe(
    z
      .array(z.number({ error: delaysError }).min(0, { error: delaysError }))
      .max(limits.webhookRetries, { error: delaysError }),
  );

const hostsError = 'must be host names without a port, such as localhost,gen3d.example.com';
/** A variable contains the names separated by commas, and the file contains a list. */
const hosts = z
  .union([z.string().transform((text) => text.split(',').map((item) => item.trim())), z.array(z.string())], {
    error: hostsError,
  })
  .pipe(z.array(z.string().regex(/^[\w.-]+$|^\[[\da-f:.]+\]$/i, hostsError)));

/** The settings with a flag, described once for `--help`, docs/configuration.md and the checks. */
const WithFlag = z.strictObject({
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
  port: number('whole number', 0, 65_535).default(8787).describe('Port of the API; 0 picks a free one'),
  metricsPort: number('whole number', 0, 65_535)
    .optional()
    .describe(
      'Separate port for /healthz and /metrics. Without it, a worker serves neither; with it, a server serves /metrics only there',
    ),
  metricsHost: z.string().min(1).default('127.0.0.1').describe('Address to listen on for the metrics port'),
  dataDir: folder.describe(
    "Folder for the database, the stored inputs and the server key; default: ~/.local/share/gen3d, or the platform's folder for application data",
  ),
  publicUrl: baseUrl
    .refine(
      (url) => /^\w+:\/\/[^/]*$/.test(url),
      'must not have a path, because the pages of the server are at the root of a host. Give it a host name or a port of its own',
    )
    .optional()
    .describe('URL at which clients reach this server; default: http://HOST:PORT'),
  assetsUrl: baseUrl.optional().describe('URL at which clients reach the assets; default: PUBLIC_URL/assets'),
  allowedHost: hosts
    .optional()
    .describe(
      'Host names for which to accept requests, in addition to localhost and those of the URLs above; default: all, or on a loopback address none',
    ),
  database: z
    .string()
    .regex(/^(sqlite$|postgres(ql)?:\/\/)/, 'must be sqlite or a postgres:// URL')
    .refine(
      (database) => database === 'sqlite' || URL.canParse(database),
      'must be a URL such as postgres://USER:PASSWORD@HOST/NAME, with special characters percent-encoded',
    )
    .default('sqlite')
    .describe('sqlite, or a postgres:// URL'),
  assets: z
    .string()
    .min(1)
    .refine(
      (assets) => !isS3Url(assets) || parseS3Url(assets) !== undefined,
      'must be a folder, or s3://BUCKET or s3://BUCKET/PREFIX with letters, digits, dots, hyphens and underscores in the prefix',
    )
    .refine(
      // A scheme has at least two letters: C:\models is a folder.
      (assets) => isS3Url(assets) || !/^[a-z][a-z0-9+.-]+:/i.test(assets),
      'must be s3://BUCKET/PREFIX or a folder (write ./NAME for a NAME with a colon)',
    )
    .transform((assets) => (isS3Url(assets) ? assets : resolve(assets)))
    .optional()
    .describe('Folder for the finished models, or s3://bucket/prefix; default: DATA_DIR/assets'),
  workers: number('whole number', 0, 64).default(1).describe('Number of runner processes on this machine; may be 0'),
  preparations: number('whole number', 1, 64)
    .default(8)
    .describe('Number of remote images, and of inline images, to prepare concurrently on this machine'),
  bundle: z
    .string()
    .min(1)
    .default('gen3d-base')
    .describe('Bundle that makes the models: a name, a folder, or inflate'),
  matte: z
    .string()
    .min(1)
    .default('isnet')
    .describe('Bundle that separates the object from the background: a name or a folder'),
  device: z
    .enum(['auto', 'cpu', 'webgpu', 'cuda', 'coreml', 'dml'])
    .default('auto')
    .describe('Device that runs the networks'),
  rateLimit: rateLimit
    .default({ perSecond: limits.requestsPerSecond, burst: limits.requestBurst })
    .describe('Requests per second and burst of the whole API, or off'),
  maxOpenJobs: number('whole number', 1)
    .default(1_000)
    .describe('Maximum number of unfinished jobs per account; beyond it, creating a job is refused with 429'),
  maxJobsPerDay: number('whole number', 1)
    .default(100_000)
    .describe(
      'Maximum number of jobs that an account creates per day (UTC); beyond it, creating a job is refused with 429',
    ),
  keepPhotosDays: number('whole number', 0, limits.taskRetentionDays)
    .default(7)
    .describe(
      "Number of days for which the photos of an account's newest finished jobs are kept, to show them and to make a model again",
    ),
  allowPrivateNetwork: flag
    .default(false)
    .describe('Allow image and webhook URLs at private, loopback and link-local addresses'),
  decoderSandbox: z
    .enum(['auto', 'require', 'off'])
    .default('auto')
    .describe(
      'Decode images in a sandbox (bubblewrap, on Linux): auto if it works here, require to refuse to start without it, or off',
    ),
  compat: flag
    .default(false)
    .describe('Also serve POST /v1/3d/generations, which clients of other servers use (docs/compatible-route.md)'),
  noTestKey: flag.default(false).describe('Turn the public test key off'),
  logFormat: z.enum(['pretty', 'json']).optional().describe('Log format; default: pretty in a terminal, else json'),
  logLevel: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Lowest level to log; in the pretty format, info is one line per job, and debug adds requests'),
});

/** Every setting of the server. */
const Config = WithFlag.extend({
  rates: rates
    .optional()
    .describe(
      'USD per second of inference by serving instance (what counts: docs/devices.md); default: 0 for this machine',
    ),
  instance: z
    .string()
    .min(1)
    .optional()
    .describe('Serving instance of this machine, as named in the rates; default: its device'),
  modelsDir: folder.optional().describe('Additional folder to look for bundles in'),
  resolution: number('whole number', 32, 512)
    .optional()
    .describe(
      `Grid cells along the longest side of a model; default: ${meshDefaults.resolution.stepped}, or ${meshDefaults.resolution.smooth} for bundles of the kinds points and planes. 64 is for previews; more than 384 shows no more detail`,
    ),
  maxTriangles: number('whole number', meshDefaults.minTriangles, 1_000_000)
    .optional()
    .describe(
      `Maximum number of triangles of a model; simple shapes have fewer; default: ${meshDefaults.maxTriangles}`,
    ),
  textureSize: number('whole number', 256, 4096)
    .optional()
    .describe(`Width and height of the texture in pixels; default: ${meshDefaults.textureSize}`),
  leaseSeconds: number('number', 0.5, 3600)
    .default(30)
    .describe('Seconds after which another machine may take over the job of a silent one'),
  inferenceLimitSeconds: number('number', 0.1, 86_400)
    .default(1_800)
    .describe('Seconds after which an inference counts as hung and its runner is replaced'),
  webhookRetryDelays: retryDelays
    .default([5, 300, 1800, 7200, 18_000])
    .describe('Pauses before the retries of a webhook delivery, in seconds, each varied by 20 %'),
  webhookPingDelay: seconds.default(10).describe('Seconds between a webhook test and its ping'),
  s3Endpoint: baseUrl
    .refine(
      (url) => !new URL(url).username,
      'must not contain credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    )
    .optional()
    .describe('URL of an S3-compatible server; default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or Amazon S3'),
  s3ForcePathStyle: flag
    .optional()
    .describe('Put the S3 bucket into the path instead of the host; default: true if an endpoint is set'),
  serverKey: z
    .string()
    .regex(/^[0-9a-f]{64}(,[0-9a-f]{64}){0,7}$/i, 'must be 64 hexadecimal digits, as printed by `openssl rand -hex 32`')
    .transform((key) => key.toLowerCase())
    .optional()
    .describe('Server key for PostgreSQL, or NEW,OLD; default: a random one, stored in the database'),
  bootstrapApiKey: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, 'must be 16 to 256 printable characters without spaces')
    .refine((key) => key !== publicTestKey, 'must not be the public test key')
    .optional()
    .describe('API key of the account that the first start creates; default: a random one, printed once to a terminal'),
  bootstrapBalanceUsd: usd
    // Enough to create jobs; at rate 0 they cost nothing.
    .default(10 * limits.minBalanceUsd)
    .describe('Balance in USD of the account that the first start creates'),
});

export type Config = Readonly<z.infer<typeof Config>>;
export type SettingKey = keyof Config;

export interface Setting {
  key: SettingKey;
  /** `--data-dir`; absent for settings without a flag. */
  flag?: string;
  /** Sets the value in the environment, for example `GEN3D_DATA_DIR`. */
  variable: string;
  description: string;
  /** The allowed values, if they can be listed. */
  choices?: readonly string[];
  /** The default, as a flag or a variable would state it. Absent if the description explains it. */
  defaultText?: string;
}

const separateWords = (key: string, separator: string) =>
  key.replace(/[A-Z]/g, (letter) => separator + letter.toLowerCase());
const variableOf = (key: string) => `GEN3D_${separateWords(key, '_').toUpperCase()}`;

function written(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (isRateLimit(value)) return `${value.perSecond}:${value.burst}`;
  return String(value);
}

const isRateLimit = (value: unknown): value is { perSecond: number; burst: number } =>
  typeof value === 'object' && value !== null && 'perSecond' in value && 'burst' in value;

/** Every setting in the order of the help, for `--help` and docs/configuration.md. */
export const settings: readonly Setting[] = (Object.keys(Config.shape) as SettingKey[]).map((key) => {
  const schema: z.ZodType = Config.shape[key];
  const inner = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  return {
    key,
    ...(key in WithFlag.shape && { flag: `--${separateWords(key, '-')}` }),
    variable: variableOf(key),
    description: schema.description ?? '',
    ...(inner instanceof z.ZodEnum && { choices: inner.options.map(String) }),
    ...(schema instanceof z.ZodDefault && { defaultText: written(schema.def.defaultValue) }),
  };
});

function readConfigFile(path: string): Record<string, unknown> {
  const unusable = (reason: string) => new ConfigError(`Cannot use the config file ${path}: ${reason}`);
  let text = '';
  let content: unknown;
  try {
    // Without a byte order mark.
    text = readFileSync(path, 'utf8').trim();
    content = JSON.parse(text);
  } catch (cause) {
    const hasComment = /^\s*(\/\/|\/\*|#)/m.test(text);
    if (hasComment) throw unusable('JSON has no comments. Remove them');
    if (/,\s*[}\]]/.test(text)) throw unusable('JSON has no comma after the last entry. Remove it');
    throw unusable(errorMessage(cause));
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) throw unusable('not a JSON object');
  return content as Record<string, unknown>;
}

/** Names the setting by its flag, variable and key in a config file, and shows its value. */
function describeIssue(issue: z.core.$ZodIssue, values: Readonly<Record<string, unknown>>): string {
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.map((key) => oneLine(quoted(key))).join('" or "');
    return `No setting has the name "${names}". In a config file, keys are flags in camel case, such as dataDir`;
  }
  const [key] = issue.path;
  const setting = settings.find((candidate) => candidate.key === key);
  if (!setting) return key === undefined ? issue.message : `${String(key)}: ${issue.message}`;
  const inFile = `${setting.key} in a config file`;
  const names = setting.flag ? `${setting.flag} (${setting.variable}; ${inFile})` : `${setting.variable} (${inFile})`;
  const message = issue.code === 'invalid_value' ? `must be one of ${issue.values.join(', ')}` : issue.message;
  return `${names}${message.startsWith('must ') ? '' : ':'} ${message}${shownValue(setting.key, values[setting.key])}`;
}

const secretSettings: readonly SettingKey[] = ['database', 'serverKey', 'bootstrapApiKey'];

/** Hides what may be a credential: in a URL, the password before the `@`, and a token after the `?` or `#`. */
function shownValue(key: SettingKey, value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return secretSettings.includes(key) || /[@?#]/.test(text) ? '' : `, but is "${oneLine(quoted(text))}"`;
}

function chosenIn(dataDir: string): BundleChoice {
  try {
    return readBundleChoice(resolve(dataDir));
  } catch (cause) {
    const reason = errorMessage(cause);
    const path = bundleChoicePath(resolve(dataDir));
    if (['EACCES', 'EPERM'].includes((cause as NodeJS.ErrnoException).code ?? '')) {
      throw new ConfigError(`Cannot read ${path}. Run gen3d as the user that owns ${resolve(dataDir)}`, { cause });
    }
    throw new ConfigError(`Cannot use ${path}: ${reason}. Delete it and run \`gen3d models use\` again`, { cause });
  }
}

/**
 * Merges and checks all settings. A flag overrides a variable, which overrides the file, which overrides the choice of
 * `gen3d models use`, which overrides the default.
 *
 * `flags` has the camelCase keys of `settings`. Undefined values, other keys (another command's flags) and empty
 * variables are ignored. Without `file`, reads the file that `--config` or `GEN3D_CONFIG` names.
 * @throws {ConfigError} for an invalid value, an unknown key in the file, or an unreadable file
 */
export function loadConfig(
  flags: Readonly<Record<string, unknown>> = {},
  env: NodeJS.ProcessEnv = process.env,
  file?: Readonly<Record<string, unknown>>,
): Config {
  const configPath = typeof flags.config === 'string' ? flags.config : trimmed(env.GEN3D_CONFIG ?? '');
  const values: Record<string, unknown> = {
    ...(file ?? (configPath ? readConfigFile(configPath) : {})),
  };
  for (const { key, variable } of settings) {
    const text = trimmed(env[variable] ?? '');
    if (text !== '') values[key] = text;
    if (flags[key] !== undefined) values[key] = flags[key];
  }
  values.dataDir ??= defaultDataDir(env);
  if (isS3Url(String(values.assets)))
    values.s3Endpoint ??= env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || undefined;
  const input = { ...chosenIn(String(values.dataDir)), ...values };
  const result = Config.safeParse(input);
  if (!result.success) {
    const problems = new Set(result.error.issues.map((issue) => describeIssue(issue, input)));
    throw new ConfigError(`Invalid configuration\n${[...problems].map((problem) => `✖ ${problem}`).join('\n')}`);
  }
  if (result.data.serverKey !== undefined && result.data.database === 'sqlite') {
    throw new ConfigError(
      `Invalid configuration\n${variableOf('serverKey')} is for PostgreSQL; with sqlite the key is the file server.key in the data directory`,
    );
  }
  const { rates: prices, instance } = result.data;
  if (prices && instance && prices[instance] === undefined) {
    throw new ConfigError(`Invalid configuration\nThe instance "${instance}" has no rate in ${variableOf('rates')}`);
  }
  return Object.freeze(result.data);
}
