import { isTerminal, type Task } from '@gen3d/schema';

export type State = Pick<Task, 'status' | 'progress'>;

const order: Record<Task['status'], number> = {
  PENDING: 0,
  QUEUED: 1,
  IN_PROGRESS: 2,
  SUCCEEDED: 3,
  FAILED: 3,
  CANCELED: 3,
};
const isStepBack = (before: State, after: State) =>
  order[after.status] < order[before.status] ||
  after.progress < before.progress ||
  (isTerminal(before.status) && after.status !== before.status);

/** Describes each state that is behind the one before it. */
export const stepsBack = (states: readonly State[]): string[] =>
  states.flatMap((after, i) => {
    const before = states[i - 1];
    if (!before || !isStepBack(before, after)) return [];
    return [`${before.status} ${before.progress} -> ${after.status} ${after.progress}`];
  });
