import type { Config, Server } from '@gen3d/server';
import { bundleOffers } from '../../bundles/bundle-offers.js';
import { shellWord, table } from '../../terminal/format.js';
import { nextCommand } from '../../terminal/next-command.js';
import { paint } from '../../terminal/terminal.js';
import { cpuName } from '../doctor/devices.js';

/** The lines below the ready line, for people: at most seven. */
export async function banner(server: Server, config: Config, hasStoredKey: boolean): Promise<string> {
  const { bootstrap, device } = server;
  // An unreadable catalog does not prevent serving. `gen3d doctor` reports it.
  const offers = await bundleOffers(config).catch(() => []);
  const rows = [
    ['Dashboard', await dashboardLink(server, config)],
    ['API key', bootstrap?.generated ? `${bootstrap.apiKey} (shown only once)` : keyHint(hasStoredKey)],
    ['Device', device ? `${device.provider}, ${device.adapter ?? cpuName()}` : 'none, because of --workers 0'],
    [
      'Bundle',
      offers.length > 0 ? `${config.bundle}; \`${nextCommand('models list')}\` shows larger ones` : config.bundle,
    ],
    ['Data', config.dataDir],
    ...(bootstrap && hasStoredKey ? [['Next', 'in another terminal: gen3d create photo.jpg --wait']] : []),
  ];
  return table(rows.map(([label = '', ...text]) => [`  ${paint('dim', label)}`, ...text]));
}

const keyHint = (hasStoredKey: boolean) =>
  hasStoredKey
    ? 'stored on this machine, so commands here need none'
    : `not stored on this machine; \`${nextCommand('login')}\` asks for it, or creates a new one`;

/** In a log, a link would give its readers access to the dashboard. */
const dashboardLink = async (server: Server, config: Config) =>
  process.stderr.isTTY ? await server.signInLink() : `${server.url}/dashboard; to sign in: ${signInCommand(config)}`;

/** Does not contain the URL of a PostgreSQL database, because it may contain a password. */
const signInCommand = ({ database, dataDir }: Config) =>
  database === 'sqlite'
    ? `gen3d admin sign-in-link --data-dir ${shellWord(dataDir)}`
    : "gen3d admin sign-in-link, with this server's --database";

/** The lines of a first start in a log for programs, where nothing else shows the key. */
export async function firstStartLines({ bootstrap, signInLink }: Server): Promise<string[]> {
  if (!bootstrap) return [];
  const key = `Created the account "default". Its API key, shown only once: ${bootstrap.apiKey}`;
  const link = process.stderr.isTTY
    ? `To open the dashboard as the operator, use this link once, within an hour: ${await signInLink()}`
    : `To open the dashboard as the operator: ${nextCommand('admin sign-in-link')}`;
  return [...(bootstrap.generated ? [key] : []), link];
}
