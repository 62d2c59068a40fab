import { phaseOf } from '@gen3d/schema/rules';
import { isTerminal, type JobOutlook, type Task } from '@gen3d/sdk';
import type { Ora } from 'ora';
import { duration } from './format.js';
import { hasColor, isInteractive, say } from './terminal.js';

/** Shows the progress of several photos: redrawn lines on a terminal, otherwise one line per change. */
export interface ProgressDisplay {
  /** @param expectedEnd milliseconds since 1970, if an estimate exists */
  update(name: string, state: string, expectedEnd?: number): void;
  /** Prints the photo's last line, which stays. */
  finish(name: string, line: string): void;
  stop(): void;
}

export async function showProgress(total: number): Promise<ProgressDisplay> {
  if (!isInteractive()) {
    return {
      update: (name, state, expectedEnd) => say(`${name}: ${state}${timeLeft(expectedEnd)}`),
      finish: (_, line) => say(line),
      stop() {},
    };
  }
  return new RedrawnProgress(await startSpinner(), total);
}

function timeLeft(expectedEnd = 0): string {
  const ms = expectedEnd - Date.now();
  return ms > 0 ? `, about ${duration(1000 * Math.ceil(ms / 1000), 0)} left` : '';
}

/** A started spinner on stderr. Loads ora only when needed, because ora takes most of the start-up time. */
export async function startSpinner(): Promise<Ora> {
  const { default: ora } = await import('ora');
  return ora({ stream: process.stderr, color: hasColor() ? 'cyan' : false, discardStdin: false }).start();
}

// The spinner cannot redraw lines that have scrolled out of view.
const maxLines = 8;

class RedrawnProgress implements ProgressDisplay {
  readonly #spinner: Ora;
  readonly #total: number;
  readonly #states = new Map<string, string>();
  /** Used if there is only one photo. */
  #expectedEnd: number | undefined;
  #finished = 0;

  constructor(spinner: Ora, total: number) {
    this.#spinner = spinner;
    this.#total = total;
    const startedAt = Date.now();
    // Counts down between the changes of the state.
    if (total === 1) spinner.suffixText = () => duration(Date.now() - startedAt) + timeLeft(this.#expectedEnd);
  }

  update(name: string, state: string, expectedEnd?: number): void {
    this.#expectedEnd = expectedEnd;
    this.#states.set(name, this.#total === 1 ? state : state + timeLeft(expectedEnd));
    this.#redraw();
  }

  finish(name: string, line: string): void {
    this.#states.delete(name);
    this.#finished += 1;
    this.#spinner.clear();
    say(line);
    this.#redraw();
  }

  stop(): void {
    this.#spinner.stop();
  }

  #redraw(): void {
    const lines = [...this.#states].map(([name, state]) => `${name}  ${state}`);
    if (this.#total === 1) {
      this.#spinner.text = lines[0] ?? '';
      return;
    }
    const shown = lines.slice(0, maxLines).map((line) => `  ${line}`);
    if (lines.length > maxLines) shown.push(`  and ${lines.length - maxLines} more`);
    this.#spinner.text = [`${this.#finished} of ${this.#total} done`, ...shown].join('\n');
  }
}

/** Returns a listener that shows the progress of a photo's job until it ends. */
export const showState =
  (display: ProgressDisplay, name: string) =>
  (task: Task, outlook: JobOutlook): void => {
    if (isTerminal(task.status)) return;
    const { position, expectedSeconds, stage } = outlook;
    const inQueue = position === undefined ? '' : `, number ${position} in the queue`;
    const state = `${phaseOf(task, stage)}${inQueue}, ${Math.round(task.progress)} %`;
    display.update(name, state, expectedSeconds && Date.now() + 1000 * expectedSeconds);
  };
