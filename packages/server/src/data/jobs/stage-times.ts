import type { Stage } from '@gen3d/engine';

/** Names the stages of a job: fetching and decoding the image, the engine's stages, storing the model. */
export type JobStage = 'prepare' | Stage | 'store';

/** Wall-clock milliseconds of each stage, in order. Waiting for a slot or for the device is not included. */
export type StageTimes = Partial<Readonly<Record<JobStage, number>>>;

/** Parses the stage times of a job's row into a list for display. */
export function stagesOf(stored: string | null): { stage: JobStage; ms: number }[] | null {
  if (stored === null) return null;
  const times = JSON.parse(stored) as Record<JobStage, number>;
  return Object.entries(times).map(([stage, ms]) => ({ stage: stage as JobStage, ms }));
}
