import { shellWord } from './format.js';

const clientOptions = { baseUrl: '--base-url', apiKey: '--api-key' };
const dataOptions = { dataDir: '--data-dir', database: '--database', config: '--config' };

/** Returns the options that select the server, the account or the data of a command. */
function selectingOptions(command: string): Readonly<Record<string, string>> {
  switch (command) {
    case 'admin':
      return dataOptions;
    case 'models':
      return { dataDir: dataOptions.dataDir, config: dataOptions.config };
    case 'login':
      return { baseUrl: clientOptions.baseUrl, ...dataOptions };
    default:
      return clientOptions;
  }
}

/** Replaces a value that is or may contain a credential. The URL of a PostgreSQL database may contain a password. */
function shownValue(option: string, value: string): string {
  if (option === 'apiKey') return 'KEY';
  return option === 'database' && value !== 'sqlite' ? 'URL' : shellWord(value);
}

let typed: Readonly<Record<string, unknown>> = {};

/** Sets the options of this process's command line, for `nextCommand`. */
export function rememberOptions(options: Readonly<Record<string, unknown>>): void {
  typed = options;
}

/**
 * Writes a command for the user to copy. It repeats the options of this command line that select the server, the
 * account or the data. Credentials are replaced with a placeholder.
 *
 * @param words the command and its arguments, quoted for a shell, such as `get ID --wait`
 */
export function nextCommand(words: string): string {
  const [name = ''] = words.split(' ', 1);
  const options = Object.entries(selectingOptions(name)).flatMap(([key, flag]) => {
    const value = typed[key];
    return typeof value === 'string' ? [`${flag} ${shownValue(key, value)}`] : [];
  });
  return ['gen3d', words, ...options].join(' ');
}
