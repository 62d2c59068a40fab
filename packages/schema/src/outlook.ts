// Response headers of an unfinished job. The task object has no field for them (docs/contract.md section 4.2).

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

/** Descriptions of the stages of inference, to use in sentences. */
export const stageNames: Readonly<Record<string, string>> = {
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
};

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
