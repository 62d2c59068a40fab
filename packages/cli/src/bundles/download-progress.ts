import type { PullProgress } from '@gen3d/server';
import { bytes, duration } from '../terminal/format.js';
import { hasColor, isWatched, say } from '../terminal/terminal.js';

/** Shows how a download is getting on: a bar on a terminal, a line for each file anywhere else. */
export interface DownloadDisplay {
  update(progress: PullProgress): void;
  stop(): void;
}

export async function showDownload(): Promise<DownloadDisplay> {
  if (!isWatched()) {
    let last = '';
    return {
      update({ file, total }) {
        if (file !== last) say(`${file}, of ${bytes(total)} in all`);
        last = file;
      },
      stop() {},
    };
  }
  const { default: ora } = await import('ora');
  const spinner = ora({ stream: process.stderr, color: hasColor() ? 'cyan' : false, discardStdin: false }).start();
  let start: { time: number; received: number } | undefined;
  return {
    update(progress) {
      // What an earlier pull had brought says nothing of the speed of this one.
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
  // Of the first moments' speed nothing can be said yet.
  const speed = elapsedMs > 1000 ? (1000 * newBytes) / elapsedMs : 0;
  const forecast = speed > 0 ? `, ${bytes(speed)}/s, ${duration((1000 * (total - received)) / speed)} left` : '';
  return `${file}  ${bar}  ${bytes(received)} of ${bytes(total)}${forecast}`;
}
