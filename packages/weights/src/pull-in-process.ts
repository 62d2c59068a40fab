import { createRequire } from 'node:module';
import { engineErrors } from '@gen3d/engine/errors';
import { Child, forkModule, type Handlers } from '@gen3d/rpc';
import type { PullOptions, PullProgress } from './pull.js';

export type PullRequest = { readonly name: string } & Pick<PullOptions, 'directory' | 'modelDirs'>;

/** The function that the process of a pull offers. */
export interface Puller {
  pull(request: PullRequest): void;
}

/** The functions of the caller that the process of a pull calls. */
export interface PullObserver {
  progress(progress: Pick<PullProgress, 'received' | 'total'>): void;
}

const { resolve } = createRequire(import.meta.url);

/**
 * Pulls a bundle of a catalog in a process of its own, because a pull hashes gigabytes and opens networks.
 *
 * @throws {Error} what `pullBundle` throws, or that the process ended
 * @throws the signal's reason, once aborted; a later pull of the same bundle resumes this one
 */
export async function pullInProcess(
  request: PullRequest,
  { onProgress, signal, env }: { onProgress: PullObserver['progress']; signal: AbortSignal; env: NodeJS.ProcessEnv },
): Promise<void> {
  const start = () => forkModule(resolve('@gen3d/weights/pull-process'), { env });
  const observer = { progress: onProgress } satisfies Handlers<PullObserver>;
  const child = new Child<Puller>('pull', start, observer, engineErrors);
  await child.callOnce('pull', request, signal);
}
