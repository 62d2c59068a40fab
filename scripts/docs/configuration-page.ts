import { homedir } from 'node:os';
import { defaultDataDir, settings } from '../../packages/server/src/config.js';
import { code, page, table, withUrlsAsCode } from './markdown.js';

/** docs/configuration.md: every setting of the server, from the schema that describes and checks them. */
export function configurationPage(): string {
  return page('packages/server/src/config.ts', [
    '# Configuration',
    'Set each setting of `gen3d serve` and `gen3d worker` with a flag, a variable, or a key of the JSON file that `--config FILE` (`GEN3D_CONFIG`) names. The key is the flag in camel case: `dataDir` for `--data-dir`. An empty variable counts as unset.',
    'A flag overrides a variable, which overrides the file, which overrides the choice of `gen3d models use`, which overrides the default. An invalid value, or an unknown key in the file, stops the start with a message that names the setting.',
    table(
      ['Flag', 'Variable', 'Default', 'Meaning'],
      settings.map(({ flag, variable, description, choices, defaultText }) => [
        flag ? code(flag) : '',
        code(variable),
        defaultText === undefined ? '' : code(defaultText),
        choices ? `${description} (${choices.map(code).join(', ')})` : withUrlsAsCode(description),
      ]),
    ),
    `The default data directory is ${code(dataDir('linux'))} on Linux (in \`XDG_DATA_HOME\` if that is set), ${code(dataDir('darwin'))} on macOS, and ${code('%LOCALAPPDATA%\\gen3d\\Data')} on Windows.`,
    '## Example file',
    `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
    '## Settings of clients',
    table(
      ['Variable', 'Option', 'Meaning'],
      [
        ['`GEN3D_API_KEY`', '`--api-key`', 'API key; `apiKey` in the SDK'],
        ['`GEN3D_BASE_URL`', '`--base-url`', 'URL of the server; `baseUrl` in the SDK'],
        ['`GEN3D_CONFIG_DIR`', '', 'Folder of the profile that `gen3d login` and the first `gen3d serve` write'],
        [
          '`GEN3D_WEBHOOK_SECRET`',
          '`--secret`',
          'Secret for `gen3d webhook listen`; default: the current secret from the server',
        ],
      ],
    ),
    'For the credentials of a bucket, use the variables of the AWS tools: [operations/s3.md](operations/s3.md).',
  ]);
}

const dataDir = (platform: NodeJS.Platform) => defaultDataDir({}, platform).replace(homedir(), '~');

const example = {
  host: '0.0.0.0',
  publicUrl: 'https://gen3d.example.com',
  dataDir: '/srv/gen3d',
  workers: 2,
  rates: { g6e: 0.002 },
  instance: 'g6e',
};
