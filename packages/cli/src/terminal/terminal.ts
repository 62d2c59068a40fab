import { styleText } from 'node:util';

/** A result: the one thing that goes to stdout, so that it can be piped. */
export const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** One object a line, exactly as the API gave it. */
export const printJson = (value: unknown): void => print(JSON.stringify(value));

/** Everything that is not the result: hints, progress, errors. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Whether a person is watching, so that lines may be drawn over and hints are welcome. */
export function isWatched(): boolean {
  const { isTTY, columns } = process.stderr;
  // Some recorders and containers give a terminal of no width, on which every line wraps for ever.
  return isTTY === true && columns > 0 && process.env.TERM !== 'dumb';
}

/** https://no-color.org: set and not empty means no colours, whatever its value. */
export const hasColor = (): boolean => isWatched() && !process.env.NO_COLOR;

export function paint(color: 'green' | 'red' | 'yellow' | 'dim', text: string): string {
  // stderr has been asked above; left to itself, styleText would ask stdout.
  return hasColor() ? styleText(color, text, { validateStream: false }) : text;
}

export const tick = (): string => paint('green', '✔');
export const cross = (): string => paint('red', '✖');

/** Opens a file or an address as a double click would. Nothing depends on it: where there is no desktop, a line says so. */
export async function openWithDefaultApp(target: string): Promise<void> {
  // Named, because on a machine without a desktop, or through ssh, nothing else happens.
  say(paint('dim', `Opening ${target}`));
  const { default: open } = await import('open');
  try {
    await open(target);
  } catch (error) {
    say(`warning: it could not be opened: ${error instanceof Error ? error.message : String(error)}`);
  }
}
