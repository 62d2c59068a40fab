import { homedir } from 'node:os';
import { defaultDataDir, settings } from '../../packages/server/src/config.js';
import { code, generatedFrom, table } from './table.js';

/** docs/configuration.md: every setting of the server, from the one schema that describes and checks them. */
export function configurationPage(): string {
  return `${[
    generatedFrom('packages/server/src/config.ts'),
    '# Configuration',
    'Every setting of `gen3d serve` and `gen3d worker` is a flag, a variable, or a key of the JSON file that `--config FILE` (`GEN3D_CONFIG`) names. A flag beats a variable, a variable beats the file, the file beats what `gen3d models use` chose, and that beats the default. A value that cannot be used stops the start with a sentence that names the setting; so does an unknown key in the file. A key is the flag in camel case: `dataDir` for `--data-dir`. An empty variable counts as unset.',
    table(
      ['Flag', 'Variable', 'Default', 'Meaning'],
      settings.map(({ flag, variable, description, choices, defaultValue }) => [
        flag ? code(flag) : '',
        code(variable),
        defaultValue === undefined ? '' : code(written(defaultValue)),
        choices ? `${description} (${choices.map(code).join(', ')})` : placeholders(description),
      ]),
    ),
    `The data directory is by default ${code(dataDir('linux'))} on Linux (below \`XDG_DATA_HOME\` where that is set), ${code(dataDir('darwin'))} on macOS, ${code('%LOCALAPPDATA%\\gen3d\\Data')} on Windows.`,
    '## As a file',
    `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
    '## Of clients',
    table(
      ['Variable', 'Option', 'Meaning'],
      [
        ['`GEN3D_API_KEY`', '`--api-key`', 'The key to use; the SDK’s `apiKey`'],
        ['`GEN3D_BASE_URL`', '`--base-url`', 'The server to talk to; the SDK’s `baseUrl`'],
        ['`GEN3D_CONFIG_DIR`', '', 'Folder of the profile that `gen3d login` and the first `gen3d serve` write'],
        [
          '`GEN3D_WEBHOOK_SECRET`',
          '`--secret`',
          'What `gen3d webhook listen` verifies with; default: the server’s current secret',
        ],
      ],
    ),
    'The credentials of a bucket are those of every AWS tool: [operations/s3.md](operations/s3.md).',
  ].join('\n\n')}\n`;
}

const dataDir = (platform: NodeJS.Platform) => defaultDataDir({}, platform).replace(homedir(), '~');

/** `http://HOST:PORT` is no link, although it looks like one. */
const placeholders = (text: string) => text.replace(/https?:\/\/[A-Z]\S*/g, code);

/** In the form in which a flag or a variable takes it. */
function written(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (isRate(value)) return `${value.perSecond}:${value.burst}`;
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}

const isRate = (value: unknown): value is { perSecond: number; burst: number } =>
  typeof value === 'object' && value !== null && 'perSecond' in value && 'burst' in value;

const example = {
  host: '0.0.0.0',
  publicUrl: 'https://gen3d.example.com',
  dataDir: '/srv/gen3d',
  workers: 2,
  rates: { g6e: 0.002 },
  instance: 'g6e',
};
