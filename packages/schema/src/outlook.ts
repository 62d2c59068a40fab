// The outlook of an unfinished job: its response headers, for which the task object has no field (docs/contract.md section
// 4.2), and its progress in words.
import { type jobStatuses, progress as milestones } from './lifecycle.js';

/** The outlook of an unfinished job. The server omits unknown values. */
export interface JobOutlook {
  /** Position in the queue of all accounts: 1 is the job whose inference starts next. */
  readonly position?: number;
  /** Seconds until the job is expected to end, including the queue. 0 if it is late. */
  readonly expectedSeconds?: number;
  /** The current stage of inference; see `stageNames`. */
  readonly stage?: string;
}

const names = {
  position: 'x-gen3d-queue-position',
  expectedSeconds: 'x-gen3d-expected-seconds',
  stage: 'x-gen3d-stage',
} as const satisfies Record<keyof JobOutlook, string>;

/** Descriptions of the stages of a job, in order, to use in sentences. All but the first two are of inference. */
export const stageNames = {
  queue: 'queued',
  prepare: 'preparing the photo',
  matte: 'cutting out the object',
  frame: 'framing the object',
  encode: 'running the network',
  field: 'computing the shape',
  surface: 'extracting the surface',
  unwrap: 'unwrapping the surface',
  bake: 'painting the texture',
  write: 'writing the model',
  thumbnail: 'drawing the thumbnail',
  store: 'storing the model',
} as const;

/** Describes a stage. A newer server may have more stages, whose description is their name. */
export const stageName = (stage: string): string => (stageNames as Readonly<Record<string, string>>)[stage] ?? stage;

interface Phase {
  readonly status: (typeof jobStatuses)[number];
  readonly progress: number;
}

/** Describes what an unfinished job is doing. docs/contract.md section 2.1 defines the progress values. */
export function phaseOf({ status, progress }: Phase, stage?: string | null): string {
  if (status === 'PENDING') return progress < milestones.preparing ? 'waiting for preparation' : stageNames.prepare;
  if (status === 'QUEUED') return stageNames.queue;
  // A newer server may have more statuses.
  if (status !== 'IN_PROGRESS') return status.toLowerCase();
  return stage ? stageName(stage) : progress < milestones.inferred ? 'creating the model' : 'finishing';
}

export function outlookHeaders(outlook: JobOutlook): Record<string, string> {
  const keys = Object.keys(names) as (keyof JobOutlook)[];
  return Object.fromEntries(
    keys.filter((key) => outlook[key] !== undefined).map((key) => [names[key], String(outlook[key])]),
  );
}

/** Reads the headers of a response. Ignores invalid values. */
export function readOutlook(headers: { get(name: string): string | null }): JobOutlook {
  const number = (name: string) => {
    const value = headers.get(name) ?? '';
    return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
  };
  const position = number(names.position);
  const expectedSeconds = number(names.expectedSeconds);
  const stage = headers.get(names.stage) ?? undefined;
  return {
    ...(position !== undefined && { position }),
    ...(expectedSeconds !== undefined && { expectedSeconds }),
    ...(stage !== undefined && { stage }),
  };
}
