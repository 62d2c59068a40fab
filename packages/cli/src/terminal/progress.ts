import { phaseOf } from '@gen3d/schema/rules';
import { isTerminal, type JobEstimate, type Task } from '@gen3d/sdk';
import type { PullProgress } from '@gen3d/weights';
import type { Ora } from 'ora';
import { bytes, duration } from './format.js';
import { hasColor, isInteractive, say, visible } from './terminal.js';

/** Shows the progress of several photos: redrawn lines on a terminal, otherwise only the last line of each. */
export interface ProgressDisplay {
  update(name: string, state: string): void;
  /** Prints the photo's last line, which stays. */
  finish(name: string, line: string): void;
  stop(): void;
}

export async function showProgress(total: number): Promise<ProgressDisplay> {
  if (!isInteractive()) return { update() {}, finish: (_, line) => say(line), stop() {} };
  return new RedrawnProgress(await startSpinner(), total);
}

/** Starts a spinner on stderr. Loads ora only when needed, because ora takes most of the start-up time. */
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
  #finished = 0;

  constructor(spinner: Ora, total: number) {
    this.#spinner = spinner;
    this.#total = total;
    const startedAt = Date.now();
    if (total === 1) spinner.suffixText = () => duration(Date.now() - startedAt);
  }

  update(name: string, state: string): void {
    this.#states.set(name, state);
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
    const lines = [...this.#states].map(([name, state]) => visible(`${name}  ${state}`));
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
  (task: Task, estimate: JobEstimate): void => {
    if (isTerminal(task.status)) return;
    display.update(name, `${phaseOf(task, estimate)}, ${Math.round(task.progress)} %`);
  };

/** Shows the progress of a download: a bar on a terminal, otherwise one line per file. */
interface DownloadDisplay {
  update(progress: PullProgress): void;
  stop(): void;
}

export async function showDownload(): Promise<DownloadDisplay> {
  if (!isInteractive()) {
    let current = '';
    return {
      update({ file, total }) {
        if (file !== current) say(`Downloading ${file} (${bytes(total)} in total)`);
        current = file;
      },
      stop() {},
    };
  }
  const spinner = await startSpinner();
  let start: { time: number; received: number } | undefined;
  return {
    update(progress) {
      // Excludes what an earlier, interrupted download received.
      start ??= { time: Date.now(), received: progress.received };
      spinner.text = downloadLine(progress, progress.received - start.received, Date.now() - start.time);
    },
    stop: () => void spinner.stop(),
  };
}

const barWidth = 24;

/** Writes, for example, `encoder.onnx  ██████░░░░  420.1 MB of 839.0 MB, 12.3 MB/s, 34.1 s left`. */
export function downloadLine({ file, received, total }: PullProgress, newBytes: number, elapsedMs: number): string {
  const filled = Math.floor((barWidth * received) / total);
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
  // The speed of the first second is not representative.
  const speed = elapsedMs > 1000 ? (1000 * newBytes) / elapsedMs : 0;
  const forecast = speed > 0 ? `, ${bytes(speed)}/s, ${duration((1000 * (total - received)) / speed)} left` : '';
  return `${file}  ${bar}  ${bytes(received)} of ${bytes(total)}${forecast}`;
}
