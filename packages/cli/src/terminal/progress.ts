import { progress as milestones } from '@gen3d/schema/rules';
import { isTerminal, type Task } from '@gen3d/sdk';
import type { Ora } from 'ora';
import { duration } from './format.js';
import { hasColor, isWatched, say } from './terminal.js';

/** Shows how several photos are getting on: redrawn lines on a terminal, one line per change anywhere else. */
export interface ProgressDisplay {
  update(name: string, state: string): void;
  /** The photo's last line; it stays. */
  finish(name: string, line: string): void;
  stop(): void;
}

export async function showProgress(total: number): Promise<ProgressDisplay> {
  if (!isWatched()) {
    return { update: (name, state) => say(`${name}: ${state}`), finish: (_, line) => say(line), stop() {} };
  }
  // Loaded only where it is seen: it is most of the time this program needs to start.
  const { default: ora } = await import('ora');
  return new Redrawn(ora({ stream: process.stderr, color: hasColor() ? 'cyan' : false, discardStdin: false }), total);
}

// More would scroll, and a spinner that scrolls redraws nonsense.
const visibleLines = 8;

class Redrawn implements ProgressDisplay {
  readonly #startedAt = Date.now();
  readonly #states = new Map<string, string>();
  #finished = 0;

  constructor(
    private readonly spinner: Ora,
    private readonly total: number,
  ) {
    spinner.suffixText = () => (this.total === 1 ? duration(Date.now() - this.#startedAt) : '');
    spinner.start();
  }

  update(name: string, state: string): void {
    this.#states.set(name, state);
    this.#redraw();
  }

  finish(name: string, line: string): void {
    this.#states.delete(name);
    this.#finished += 1;
    this.spinner.clear();
    say(line);
    this.#redraw();
  }

  stop(): void {
    this.spinner.stop();
  }

  #redraw(): void {
    const lines = [...this.#states].map(([name, state]) => `${name}  ${state}`);
    if (this.total === 1) {
      this.spinner.text = lines[0] ?? '';
      return;
    }
    const shown = lines.slice(0, visibleLines).map((line) => `  ${line}`);
    if (lines.length > visibleLines) shown.push(`  and ${lines.length - visibleLines} more`);
    this.spinner.text = [`${this.#finished} of ${this.total} done`, ...shown].join('\n');
  }
}

/** Shows how a photo's job is getting on, for as long as it does: how it ends is in its last line. */
export const showState =
  (display: ProgressDisplay, name: string) =>
  (task: Task): void => {
    if (!isTerminal(task.status)) display.update(name, stateOf(task));
  };

/** `making the model, 45 %`; what each progress value means is in the contract. */
const stateOf = (task: Task): string => `${phase(task)}, ${Math.round(task.progress)} %`;

function phase({ status, progress }: Task): string {
  switch (status) {
    case 'PENDING':
      return progress < milestones.preparing ? 'waiting for its turn' : 'preparing the photo';
    case 'QUEUED':
      return 'prepared, waiting for the model';
    case 'IN_PROGRESS':
      return progress < milestones.inferred ? 'making the model' : 'finishing';
    default:
      // Also a status of a server newer than this program.
      return status.toLowerCase();
  }
}
