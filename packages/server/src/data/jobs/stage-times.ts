import type { Stage } from '@gen3d/engine';

/** What a runner does with a job: fetches and decodes the photo, has the engine take it through its stages, stores the model. */
export type JobStage = 'prepare' | Stage | 'store';

/** Wall-clock milliseconds of each stage, in the order in which they came. Waiting for the inference slot is none. */
export type StageTimes = Partial<Readonly<Record<JobStage, number>>>;

/** Reads what a job's row keeps, as the list that a person is shown. */
export function stagesOf(stored: string | null): { stage: JobStage; ms: number }[] | null {
  if (stored === null) return null;
  const times = JSON.parse(stored) as Record<JobStage, number>;
  return Object.entries(times).map(([stage, ms]) => ({ stage: stage as JobStage, ms }));
}
