// How far an unfinished job is: response headers for what the task object has no field (docs/contract.md section 4.2),
// and its progress in words.
import { type jobStatuses, progress as milestones } from './lifecycle.js';

/** How far an unfinished job is, as the server estimates it. The server omits unknown values. */
export interface JobEstimate {
  /** Position in the queue of all accounts: 1 is the job whose inference starts next. */
  readonly position?: number | undefined;
  /** The current stage of inference; see `stageNames`. */
  readonly stage?: string | undefined;
}

const positionHeader = 'x-gen3d-queue-position';
const stageHeader = 'x-gen3d-stage';

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
export function phaseOf({ status, progress }: Phase, { stage, position }: JobEstimate = {}): string {
  if (status === 'PENDING' && progress >= milestones.preparing) return stageNames.prepare;
  // To people, the queues for preparation and for inference are one.
  if (status === 'PENDING' || status === 'QUEUED') {
    if (position === undefined) return stageNames.queue;
    return `${stageNames.queue}, ${position === 1 ? 'next in turn' : `${position - 1} ahead of it`}`;
  }
  // A newer server may have more statuses.
  if (status !== 'IN_PROGRESS') return status.toLowerCase();
  return stage ? stageName(stage) : progress < milestones.inferred ? 'creating the model' : 'finishing';
}

export const estimateHeaders = ({ position, stage }: JobEstimate): Record<string, string> => ({
  ...(position !== undefined && { [positionHeader]: String(position) }),
  ...(stage !== undefined && { [stageHeader]: stage }),
});

/** Reads the headers of a response. Ignores invalid values. */
export function readEstimate(headers: { get(name: string): string | null }): JobEstimate {
  const position = headers.get(positionHeader) ?? '';
  const stage = headers.get(stageHeader);
  return { ...(/^\d{1,9}$/.test(position) && { position: Number(position) }), ...(stage !== null && { stage }) };
}
