import type { GalleryJob, Task } from '@gen3d/schema/dashboard';
import { describeWarnings, type PhotoSide, phaseOf } from '@gen3d/schema/rules';
import type { TargetedEvent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Api } from '../api.js';
import { capitalized, dateTime, relativeTime } from '../format.js';
import { estimateOf, jobName, retryMayHelp, statusLabels } from '../jobs.js';
import { useObjectUrl } from '../photos/object-url.js';
import type { Upload } from '../photos/uploads.js';
import { useSession } from '../session.js';
import { isOpen } from '../use-gallery.js';
import { Button } from './buttons.js';

export function StatusBadge({ status }: { status: Task['status'] }) {
  return <span class={`badge ${status.toLowerCase()}`}>{statusLabels[status]}</span>;
}

/** Hides an image that cannot be loaded, because an empty frame looks better than the browser's icon. */
const hideBroken = (event: TargetedEvent<HTMLImageElement>) => {
  event.currentTarget.hidden = true;
};

/** Loads a job's photo. Undefined if the server no longer has it. @throws if the browser cannot show it */
export async function photoOf(api: Api, jobId: string, side: PhotoSide): Promise<Blob | undefined> {
  const photo = await api.getFile(`/job-details/${jobId}/photos/${side}`);
  if (photo) (await createImageBitmap(photo)).close();
  return photo;
}

/** Returns a blob: URL of what `photoOf` loads. Undefined if the browser cannot show it, or if not `wanted`. */
export function usePhoto(jobId: string, side: PhotoSide, wanted: boolean): string | undefined {
  const { api } = useSession();
  const [photo, setPhoto] = useState<Blob>();
  useEffect(() => {
    if (!wanted) return;
    let unmounted = false;
    const show = (loaded: Blob | undefined) => {
      if (!unmounted) setPhoto(loaded);
    };
    // Pages work without photos.
    photoOf(api, jobId, side).then(show, () => {});
    return () => {
      unmounted = true;
      setPhoto(undefined);
    };
  }, [api, jobId, side, wanted]);
  return useObjectUrl(photo);
}

const darkScheme = matchMedia('(prefers-color-scheme: dark)');

function useDarkScheme(): boolean {
  const [isDark, setIsDark] = useState(darkScheme.matches);
  useEffect(() => {
    const onChange = () => setIsDark(darkScheme.matches);
    darkScheme.addEventListener('change', onChange);
    return () => darkScheme.removeEventListener('change', onChange);
  }, []);
  return isDark;
}

/**
 * Shows the JPEG, or on a dark page the image with a transparent background, which the sample lacks. Not a `picture`,
 * which reports no error if the color scheme changes and the other image is missing.
 */
function Thumbnail({ url }: { url: string }) {
  const isDark = useDarkScheme();
  const [jpegOnly, setJpegOnly] = useState(false);
  const src = isDark && !jpegOnly ? url.replace(/\.jpg$/, '.webp') : url;
  const onError = (event: TargetedEvent<HTMLImageElement>) => {
    if (src === url) hideBroken(event);
    else setJpegOnly(true);
  };
  return <img src={src} alt="" loading="lazy" decoding="async" onError={onError} />;
}

interface JobCardProps {
  job: GalleryJob;
  /** The photo, if this page uploaded it. */
  preview: Blob | undefined;
  /** Whether the job is selected; undefined while nothing can be selected. */
  selected: boolean | undefined;
  onSelect: (selected: boolean) => void;
  onCancel: () => void;
  onRetry: () => void;
}

/** All cards have the same height. A long error is cut off here; the job's page shows all of it. */
export function JobCard({ job, preview, selected, onSelect, onCancel, onRetry }: JobCardProps) {
  const { task_id, status, progress, thumbnail_url, error, created_at, queue_position } = job;
  const photo = usePhoto(task_id, 'front', !thumbnail_url && preview === undefined);
  const photoUrl = useObjectUrl(preview) ?? photo;
  const name = jobName(job);
  const remark = error?.message ?? describeWarnings(job.warnings)[0];
  const content = (
    <>
      <div class={thumbnail_url ? 'card-image model-image' : 'card-image photo'}>
        {/* The key makes a new element for a new URL, so that it is not hidden because the previous image was broken. */}
        {thumbnail_url ? (
          <Thumbnail key={thumbnail_url} url={thumbnail_url} />
        ) : (
          photoUrl && <img key={photoUrl} src={photoUrl} alt="" decoding="async" onError={hideBroken} />
        )}
        {isOpen(job) && <progress max={100} value={progress} aria-label="Progress" />}
      </div>
      <strong class="file" title={name}>
        {name}
      </strong>
    </>
  );
  return (
    <div class="card" data-job={task_id}>
      {selected === undefined ? (
        <a class="card-link" href={`/dashboard/jobs/${task_id}`}>
          {content}
        </a>
      ) : (
        <label class="card-link">
          <input
            type="checkbox"
            checked={selected}
            aria-label={`Select ${name}`}
            onChange={(event) => onSelect(event.currentTarget.checked)}
          />
          {content}
        </label>
      )}
      <div class="caption">
        <StatusBadge status={status} />
        {remark ? (
          <span class="file" title={remark}>
            {remark}
          </span>
        ) : (
          <time dateTime={created_at} title={dateTime(created_at)}>
            {queue_position === null ? relativeTime(created_at) : capitalized(phaseOf(job, estimateOf(job)))}
          </time>
        )}
      </div>
      {selected === undefined && job.can_cancel && (
        <Button label="Cancel" class="small card-action" aria-label={`Cancel ${name}`} onClick={onCancel} />
      )}
      {selected === undefined && !thumbnail_url && job.can_retry && retryMayHelp(job) && (
        <Button label="Try again" class="small card-action" aria-label={`Try again: ${name}`} onClick={onRetry} />
      )}
    </div>
  );
}

export function UploadCard(props: { upload: Upload; onRetry: () => void; onDismiss: () => void }) {
  const { name, state, problem, canRetry } = props.upload;
  const preview = useObjectUrl(props.upload.preview);
  const hasFailed = state === 'failed';
  return (
    <div class="card">
      <div class="card-image photo">
        {preview && <img key={preview} src={preview} alt="" onError={hideBroken} />}
        {hasFailed ? (
          <p class="error upload-problem" role="alert">
            {problem}
          </p>
        ) : (
          <progress aria-label={`Sending ${name}`} />
        )}
      </div>
      <strong class="file" title={name}>
        {name}
      </strong>
      <div class="caption">
        <span class={hasFailed ? 'badge failed' : 'badge pending'}>{hasFailed ? 'Not sent' : 'Sending'}</span>
        {hasFailed && (
          <span class="card-buttons">
            {canRetry && (
              <Button label="Try again" class="link" aria-label={`Try again: ${name}`} onClick={props.onRetry} />
            )}
            <Button label="Remove" class="link" aria-label={`Remove ${name}`} onClick={props.onDismiss} />
          </span>
        )}
      </div>
    </div>
  );
}
