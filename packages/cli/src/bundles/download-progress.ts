import type { PullProgress } from '@gen3d/weights';
import { bytes, duration } from '../terminal/format.js';
import { startSpinner } from '../terminal/progress.js';
import { isInteractive, say } from '../terminal/terminal.js';

/** Shows the progress of a download: a bar on a terminal, otherwise one line per file. */
export interface DownloadDisplay {
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

/** `encoder.onnx  ██████░░░░  420.1 MB of 839.0 MB, 12.3 MB/s, 34.1 s left` */
export function downloadLine({ file, received, total }: PullProgress, newBytes: number, elapsedMs: number): string {
  const filled = Math.floor((barWidth * received) / total);
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
  // The speed of the first second is not representative.
  const speed = elapsedMs > 1000 ? (1000 * newBytes) / elapsedMs : 0;
  const forecast = speed > 0 ? `, ${bytes(speed)}/s, ${duration((1000 * (total - received)) / speed)} left` : '';
  return `${file}  ${bar}  ${bytes(received)} of ${bytes(total)}${forecast}`;
}
