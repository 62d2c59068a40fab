import type { Config, Setting } from '@gen3d/server';
import { type Command, Option } from 'commander';

type Key = Setting['key'];

const switches: ReadonlySet<Key> = new Set(['allowPrivateNetwork', 'compat', 'noTestKey'] as const);

// Other settings use <value>.
const placeholders: Partial<Record<Key, string>> = {
  host: 'address',
  port: 'number',
  metricsPort: 'number',
  metricsHost: 'address',
  dataDir: 'dir',
  publicUrl: 'url',
  assetsUrl: 'url',
  allowedHost: 'name,...',
  assets: 'dir',
  workers: 'number',
  bundle: 'bundle',
  matte: 'matte',
  device: 'device',
  rateLimit: 'rate:burst',
  maxOpenJobs: 'number',
  maxJobsPerDay: 'number',
  preparations: 'number',
  database: 'url',
  logFormat: 'format',
  logLevel: 'level',
};

/**
 * Adds server settings to a command as options. Their descriptions are those of the server's configuration, which is
 * loaded only by these commands.
 */
export async function addServerOptions(command: Command, keys?: readonly Key[]): Promise<void> {
  const { settings } = await import('@gen3d/server');
  for (const { key, flag, variable, description, choices, defaultText } of settings) {
    if (flag === undefined || (keys && !keys.includes(key))) continue;
    const value = switches.has(key) ? '' : ` <${placeholders[key] ?? 'value'}>`;
    const option = new Option(`${flag}${value}`, `${description} (${variable})`);
    // Only for the help: the value stays undefined, because a variable or the config file may override the default.
    if (value !== '') option.default(undefined, defaultText);
    command.addOption(choices ? option.choices(choices) : option);
  }
  command.option('--config <file>', 'JSON file with these settings (GEN3D_CONFIG)');
}

/** Reads the configuration of a command with server settings. @throws ConfigError, which names the invalid setting */
export async function serverConfig(command: Command): Promise<Config> {
  const { loadConfig } = await import('@gen3d/server');
  const { testKey, ...flags } = command.optsWithGlobals();
  // Commander converts --no-test-key to `testKey: false`.
  return loadConfig({ ...flags, ...(testKey === false && { noTestKey: true }) });
}
