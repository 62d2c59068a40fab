import type { TargetedEvent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Task } from '../api.js';
import { keptPhoto } from '../photos/kept-photos.js';
import type { Upload } from '../photos/uploads.js';
import { ago, when } from '../words.js';
import { StatusBadge } from './status-badge.js';

/** An empty frame says as much as the browser's sign for a broken picture, and looks better. */
const hideBroken = (event: TargetedEvent<HTMLImageElement>) => {
  event.currentTarget.hidden = true;
};

/** blob: address of the copy of a job's photo that this browser keeps. */
export function useKeptPhoto(jobId: string, wanted = true): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!wanted) return;
    let made: string | undefined;
    let gone = false;
    void keptPhoto(jobId).then((photo) => {
      if (!photo || gone) return;
      made = URL.createObjectURL(photo);
      setUrl(made);
    });
    return () => {
      gone = true;
      if (made) URL.revokeObjectURL(made);
      setUrl(undefined);
    };
  }, [jobId, wanted]);
  return url;
}

export function JobCard({ task, preview }: { task: Task; preview: string | undefined }) {
  const { task_id, status, progress, thumbnail_url, error, created_at, finished_at } = task;
  const kept = useKeptPhoto(task_id, !thumbnail_url && preview === undefined);
  const picture = thumbnail_url ?? preview ?? kept;
  return (
    <a class="card" href={`/dashboard/jobs/${task_id}`}>
      <span class="hidden">Model</span>
      <div class={thumbnail_url ? 'picture' : 'picture photo'}>
        {/* By its address, so that the next picture is not hidden because the one before it was broken. */}
        {picture && <img key={picture} src={picture} alt="" loading="lazy" decoding="async" onError={hideBroken} />}
        {!finished_at && <progress max={100} value={progress} aria-label="Progress" />}
      </div>
      <div class="caption">
        <StatusBadge status={status} />
        <time dateTime={created_at} title={when(created_at)}>
          {ago(created_at)}
        </time>
      </div>
      {error && <p class="why">{error.message}</p>}
    </a>
  );
}

export function UploadCard(props: { upload: Upload; onRetry: () => void; onDismiss: () => void }) {
  const { name, preview, state, problem, mayRetry } = props.upload;
  return (
    <div class="card">
      <div class="picture photo">
        <img src={preview} alt="" onError={hideBroken} />
        {state !== 'refused' && <progress aria-label={`Sending ${name}`} />}
      </div>
      <div class="caption">
        <span class={state === 'refused' ? 'badge failed' : 'badge pending'}>
          {state === 'refused' ? 'Not sent' : 'Sending'}
        </span>
        <span class="file" title={name}>
          {name}
        </span>
      </div>
      {state === 'refused' && (
        <>
          <p class="why" role="alert">
            {problem}
          </p>
          <div class="row">
            {mayRetry && (
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
