import { styleText } from 'node:util';
import { errorMessage, UsageError } from '../exit/failure.js';

/** Matches characters that terminals obey: control characters, and those that reverse the text after them. */
const control = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;
/** Matches the colors of `paint`, and control characters other than tabs and line breaks. */
const colorOrControl = new RegExp(`(\\x1b\\[(?:2|22|31|32|33|39)m)|(?![\\t\\n])${control.source}`, 'gu');

/** Replaces control characters in what others wrote, which could otherwise change the terminal's title or clipboard. */
export const visible = (text: string): string => text.replace(colorOrControl, (_, color?: string) => color ?? '\uFFFD');

/** Makes the name of a file part of a line. Names may contain line breaks and other control characters. */
export const shownName = (name: string): string => name.replace(control, '\uFFFD');

/** Prints a result to stdout, the only output there. */
export const print = (line: string): void => void process.stdout.write(`${visible(line)}\n`);

/** Prints an object of the API unchanged, on one line. JSON leaves some control characters as they are, unlike this. */
export const printJson = (value: unknown): void =>
  print(JSON.stringify(value).replace(control, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`));

/** Prints hints, progress and errors to stderr. */
export const say = (line: string): void => void process.stderr.write(`${visible(line)}\n`);

/** @throws {UsageError} if stdin is a terminal, from which a file cannot be read. `example` shows how to pass one */
export function requirePipe(example: string): void {
  if (process.stdin.isTTY) throw new UsageError(`- reads a file from stdin, which is a terminal. Example: ${example}`);
}

/** Whether stderr is a terminal on which lines can be redrawn. */
export function isInteractive(): boolean {
  const { isTTY, columns } = process.stderr;
  // Some recorders and containers provide a terminal with zero columns, where redrawing does not work.
  return isTTY === true && columns > 0 && process.env.TERM !== 'dumb';
}

/** NO_COLOR disables colors, unless it is empty (https://no-color.org). */
export const hasColor = (): boolean => isInteractive() && !process.env.NO_COLOR;

export function paint(color: 'green' | 'red' | 'yellow' | 'dim', text: string): string {
  // By default, styleText checks stdout, but colors are for stderr.
  return hasColor() ? styleText(color, text, { validateStream: false }) : text;
}

export const tick = (): string => paint('green', '✔');
export const cross = (): string => paint('red', '✖');

/** Opens a file or URL with the desktop's default app. Without a desktop, prints how to open it. */
export async function openWithDefaultApp(target: string): Promise<void> {
  if (!hasDesktop()) return say(`This machine has no display. Open ${target} on one that has`);
  say(paint('dim', `Opening ${target}`));
  const { default: open } = await import('open');
  try {
    await open(target);
  } catch (error) {
    say(`warning: Could not open ${target}: ${errorMessage(error)}`);
  }
}

/** On Linux, `xdg-open` exits with 0 even if nothing can show the target. WSL opens it on Windows. */
function hasDesktop({ env, platform } = process): boolean {
  const { BROWSER, DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME } = env;
  return platform !== 'linux' || [BROWSER, DISPLAY, WAYLAND_DISPLAY, WSL_DISTRO_NAME].some(Boolean);
}
