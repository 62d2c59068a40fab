import type { GalleryJob, JobDetails } from '@gen3d/schema/dashboard';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { dateTime, fileSize, seconds, usd } from '../format.js';
import { useSession } from '../session.js';
import type { ModelFigures } from './model-viewer.js';

const grouped = new Intl.NumberFormat('en-US');

/** The size of a file in bytes. Undefined until it is known, and if the file's host does not report it. */
function useFileSize(url: string | undefined): number | undefined {
  const [bytes, setBytes] = useState<number>();
  useEffect(() => {
    if (url === undefined) return;
    const abort = new AbortController();
    fetch(url, { method: 'HEAD', signal: abort.signal }).then(
      ({ headers }) => setBytes(Number(headers.get('content-length')) || undefined),
      () => setBytes(undefined),
    );
    return () => abort.abort();
  }, [url]);
  return bytes;
}

/** Renders nothing if it has no content. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  if (children === undefined || children === null || children === false) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** The facts of a job and its model. `figures` is set once the viewer has loaded the model. */
export function JobFacts(props: { job: GalleryJob; details: JobDetails; figures: ModelFigures | undefined }) {
  const { job, details, figures } = props;
  const { charges } = useSession();
  const bytes = useFileSize(job.model_urls?.glb);
  const tookMs = job.finished_at === null ? null : Date.parse(job.finished_at) - Date.parse(job.created_at);
  const worked = job.work_seconds === null ? '' : `, ${seconds(job.work_seconds)} of it work`;
  return (
    <dl>
      <Fact name="Triangles">{figures && grouped.format(figures.triangles)}</Fact>
      <Fact name="Vertices">{figures && grouped.format(figures.vertices)}</Fact>
      <Fact name="Texture">{figures?.texture && `${figures.texture.width} × ${figures.texture.height}`}</Fact>
      <Fact name="File size">{bytes && fileSize(bytes)}</Fact>
      <Fact name="Bundle">{details.bundle}</Fact>
      <Fact name="Device">{details.instance}</Fact>
      <Fact name="Took">{tookMs !== null && `${seconds(tookMs / 1_000)}${worked}`}</Fact>
      <Fact name="Cost">{charges && details.cost_usd !== null && usd(details.cost_usd)}</Fact>
      <Fact name="Attempts">{details.attempts > 1 && details.attempts}</Fact>
      <Fact name="Created">{dateTime(job.created_at)}</Fact>
      <Fact name="Photo">
        {details.image_url && (
          <a href={details.image_url} target="_blank" rel="noreferrer noopener">
            {new URL(details.image_url).host}
          </a>
        )}
      </Fact>
      <Fact name="Job">
        <code>{job.task_id}</code>
      </Fact>
    </dl>
  );
}
