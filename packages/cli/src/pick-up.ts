import { shellWord } from './shell-word.js';

/** The command that waits for a job again and writes its model, ready to be pasted into a shell. */
export const pickUp = (jobId: string, path?: string): string =>
  `gen3d get ${jobId} --wait${path === undefined ? '' : ` -o ${shellWord(path)}`}`;
