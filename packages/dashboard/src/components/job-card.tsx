import type { Task } from '@gen3d/schema/dashboard';
import type { TargetedEvent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { dateTime, relativeTime } from '../format.js';
import { statusLabels } from '../labels.js';
import { keptPhoto } from '../photos/kept-photos.js';
import type { Upload } from '../photos/uploads.js';

export function StatusBadge({ status }: { status: Task['status'] }) {
  return <span class={`badge ${status.toLowerCase()}`}>{statusLabels[status]}</span>;
}

/** An empty frame looks better than the browser's icon for a broken image. */
const hideBroken = (event: TargetedEvent<HTMLImageElement>) => {
  event.currentTarget.hidden = true;
};

/** blob: URL of this browser's copy of a job's photo. Undefined without a copy, or if it is not `wanted`. */
export function useKeptPhoto(jobId: string, wanted = true): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!wanted) return;
    let createdUrl: string | undefined;
    let unmounted = false;
    void keptPhoto(jobId).then((photo) => {
      if (!photo || unmounted) return;
      createdUrl = URL.createObjectURL(photo);
      setUrl(createdUrl);
    });
    return () => {
      unmounted = true;
      if (createdUrl) URL.revokeObjectURL(createdUrl);
      setUrl(undefined);
    };
  }, [jobId, wanted]);
  return url;
}

/** `preview`: blob: URL of the photo, if this page uploaded it. */
export function JobCard({ task, preview }: { task: Task; preview: string | undefined }) {
  const { task_id, status, progress, thumbnail_url, error, created_at, finished_at } = task;
  const photo = useKeptPhoto(task_id, !thumbnail_url && preview === undefined);
  const image = thumbnail_url ?? preview ?? photo;
  return (
    <a class="card" href={`/dashboard/jobs/${task_id}`}>
      <span class="hidden">Model</span>
      <div class={thumbnail_url ? 'card-image model-image' : 'card-image photo'}>
        {/* The key makes a new element for a new URL, so that it is not hidden because the previous image was broken. */}
        {image && <img key={image} src={image} alt="" loading="lazy" decoding="async" onError={hideBroken} />}
        {!finished_at && <progress max={100} value={progress} aria-label="Progress" />}
      </div>
      <div class="caption">
        <StatusBadge status={status} />
        <time dateTime={created_at} title={dateTime(created_at)}>
          {relativeTime(created_at)}
        </time>
      </div>
      {error && (
        <p class="error file" title={error.message}>
          {error.message}
        </p>
      )}
    </a>
  );
}

export function UploadCard(props: { upload: Upload; onRetry: () => void; onDismiss: () => void }) {
  const { name, preview, state, problem, canRetry } = props.upload;
  const hasFailed = state === 'failed';
  return (
    <div class="card">
      <div class="card-image photo">
        <img src={preview} alt="" onError={hideBroken} />
        {!hasFailed && <progress aria-label={`Sending ${name}`} />}
      </div>
      <div class="caption">
        <span class={hasFailed ? 'badge failed' : 'badge pending'}>{hasFailed ? 'Not sent' : 'Sending'}</span>
        <span class="file" title={name}>
          {name}
        </span>
      </div>
      {hasFailed && (
        <>
          <p class="error" role="alert">
            {problem}
          </p>
          <div class="row">
            {canRetry && (
              <button type="button" class="small" onClick={props.onRetry}>
                Try again
              </button>
            )}
            <button type="button" class="small quiet" onClick={props.onDismiss}>
              Remove
            </button>
          </div>
        </>
      )}
    </div>
  );
}
