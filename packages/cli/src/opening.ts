import { paint, say } from './terminal.js';

/** Opens a file or an address as a double click would. Nothing depends on it: where there is no desktop, a line says so. */
export async function openForPerson(target: string): Promise<void> {
  // Named, because on a machine without a desktop, or through ssh, nothing else happens.
  say(paint('dim', `Opening ${target}`));
  const { default: open } = await import('open');
  try {
    await open(target);
  } catch (error) {
    say(`warning: it could not be opened: ${error instanceof Error ? error.message : String(error)}`);
  }
}
