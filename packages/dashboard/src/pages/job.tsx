import { GalleryJob, JobDetails, type StageTime } from '@gen3d/schema/dashboard';
import { describeWarnings, fileNameOf, type PhotoSide, phaseOf, photoSides, stageName } from '@gen3d/schema/rules';
import { newIdempotencyKey } from '@gen3d/sdk';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { ApiError } from '../api.js';
import { Button, ConfirmButton } from '../components/buttons.js';
import { EventsTable, isUndelivered } from '../components/events-table.js';
import { Problem, Success, useAction } from '../components/feedback.js';
import { photoOf, StatusBadge, usePhoto } from '../components/job-card.js';
import { ModelView } from '../components/model-view.js';
import type { ModelFigures } from '../components/model-viewer.js';
import { OtherFormats } from '../components/other-formats.js';
import { PhotoPlacesDialog } from '../components/photo-places.js';
import { CopyableLink, ShareModel } from '../components/share-model.js';
import { capitalized, dateTime, fileSize, milliseconds, seconds, usd } from '../format.js';
import {
  cancelJob,
  deleteConsequence,
  deleteJob,
  estimateOf,
  failureAdvice,
  jobName,
  retryJob,
  retryMayHelp,
} from '../jobs.js';
import { NotFoundPage, useTitle } from '../layout.js';
import { type ObjectPhotos, type SidePhotos, sideNames } from '../photos/sides.js';
import { preparePhotos, sendPhotos } from '../photos/uploads.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';
import { galleryUrl } from './gallery.js';

/** Whether a message has a second sentence, which says what to do. */
const hasAdvice = (message: string) => /[.!?] \S/.test(message);

export function JobPage() {
  const id = encodeURIComponent(useRoute().params.id ?? '');
  const { api } = useSession();
  const [task, setTask] = useState<GalleryJob>();
  const [details, setDetails] = useState<JobDetails>();
  const [figures, setFigures] = useState<ModelFigures>();
  const [missing, setMissing] = useState(false);
  const { problem, success, isRunning, actionCount, run } = useAction();
  /** `actionCount` when the job was read last. */
  const [loadedAfter, setLoadedAfter] = useState(0);
  const photo = usePhoto(id, 'front', task !== undefined && isOnServer(task));
  const name = task ? jobName(task) : 'Model';
  useTitle(name);

  const loadProblem = usePolling(async () => {
    // It may be deleting the job. Polling starts over when it has ended.
    if (isRunning) return true;
    const isLoaded = task?.task_id === id && task.finished_at && loadedAfter === actionCount;
    if (isLoaded && !details?.events.some(isUndelivered)) return false;
    try {
      const newTask = await api.get(`/gallery/${id}`, GalleryJob);
      // Read after the task, so that the details of a finished job are complete.
      const newDetails = await api.get(`/job-details/${id}`, JobDetails);
      setTask(newTask);
      setDetails(newDetails);
      setLoadedAfter(actionCount);
      return newTask.finished_at === null || newDetails.events.some(isUndelivered);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) setMissing(true);
      throw error;
    }
  }, `${id} ${actionCount}`);

  const replay = (eventId: string) =>
    run(() => api.send('POST', `/events/${eventId}/replay`), 'The event will be sent again.');

  if (missing) return <NotFoundPage />;
  if (!task || !details) return <Problem text={loadProblem} />;
  const glb = task.model_urls?.glb;
  const thumbnail = task.thumbnail_url ?? undefined;
  const tookMs = task.finished_at === null ? null : Date.parse(task.finished_at) - Date.parse(task.created_at);
  const actions = <JobActions job={task} act={run} />;
  return (
    <>
      <p class="crumbs">
        <a href={galleryUrl}>Models</a>
      </p>
      <div class="job">
        {(glb || photo || tookMs === null) && (
          <section aria-label="Model">
            {glb && <ModelView key={glb} glb={glb} thumbnail={thumbnail} onMeasured={setFigures} />}
            {!glb && tookMs === null && <WaitingView job={task} photo={photo} />}
            {!glb && tookMs !== null && (
              <div class="model">
                <img src={photo} alt="As uploaded" />
              </div>
            )}
          </section>
        )}
        <aside>
          <div class="row between">
            <h1 class="name">{name}</h1>
            <StatusBadge status={task.status} />
          </div>
          <Problem text={loadProblem ?? problem} />
          {task.error && (
            <div class="problem" role="alert">
              <strong>{task.error.message}</strong>
              {!hasAdvice(task.error.message) && <p>{failureAdvice[task.error.code]}</p>}
            </div>
          )}
          {describeWarnings(task.warnings).map((sentence) => (
            <p key={sentence} class="hint">
              {sentence}
            </p>
          ))}
          {glb && (
            <div class="row">
              <a class="button primary" href={glb} download={fileNameOf(task, '.glb')}>
                Download GLB
              </a>
              {thumbnail && (
                <a class="button" href={thumbnail} download={fileNameOf(task, '-thumbnail.jpg')}>
                  Thumbnail
                </a>
              )}
              <OtherFormats glb={glb} thumbnail={thumbnail} stem={fileNameOf(task, '')} />
            </div>
          )}
          {glb && <CopyableLink label="Permanent link" url={glb} name="the permanent link" />}
          <ShareModel job={task} name={name} act={run} />
          {!glb && tookMs !== null && (
            <a class={retryMayHelp(task) ? 'button' : 'button primary'} href="/">
              Try another photo
            </a>
          )}
          {!glb && actions}
          <JobFacts job={task} details={details} figures={glb ? figures : undefined} />
          {(glb || task.views.length > 0) && <JobPhotos job={task} />}
          {glb && actions}
          <Success text={success} />
        </aside>
        <div class="more">
          {glb && details.stages && tookMs !== null && (
            <details>
              <summary>Time by stage</summary>
              {details.attempts > 1 && <p class="hint">Queue time includes earlier attempts.</p>}
              <StageTimes stages={details.stages} tookMs={tookMs} />
            </details>
          )}
        </div>
      </div>
      {details.events.length > 0 && (
        <section>
          <h2>Webhook events</h2>
          <EventsTable events={details.events} onReplay={replay} />
        </section>
      )}
    </>
  );
}

/** Whether the server may still have the photos. */
const isOnServer = (job: GalleryJob) => !job.model_urls || job.can_retry;

const sidesOf = ({ views }: GalleryJob) => photoSides.filter((side) => side === 'front' || views.includes(side));

/** Shows the photos of a job, with their sides if it has several. */
function JobPhotos({ job }: { job: GalleryJob }) {
  return (
    <div class="job-photos">
      {sidesOf(job).map((side) => (
        <JobPhoto key={side} job={job} side={side} />
      ))}
    </div>
  );
}

function JobPhoto({ job, side }: { job: GalleryJob; side: PhotoSide }) {
  const photo = usePhoto(job.task_id, side, isOnServer(job));
  const isOne = job.views.length === 0;
  if (!photo && isOne) return null;
  const name = isOne ? 'Photo' : sideNames[side];
  const isUnused = job.warnings.includes(`photo_not_used_${side}`);
  return (
    <figure>
      {photo && <img src={photo} alt={isOne ? 'As uploaded' : `${name}, as uploaded`} />}
      <figcaption>{isUnused ? `${name}, not used` : name}</figcaption>
    </figure>
  );
}

/** Makes another model of a finished job's photos and of photos of other sides. */
function AddSides({ job }: { job: GalleryJob }) {
  const { api } = useSession();
  const { route } = useLocation();
  const { problem, isRunning, run } = useAction();
  const [photos, setPhotos] = useState<SidePhotos>();
  const open = async () => {
    const loaded: { [side in PhotoSide]?: File } = {};
    for (const side of isOnServer(job) ? sidesOf(job) : []) {
      const photo = await photoOf(api, job.task_id, side).catch(() => undefined);
      if (photo) loaded[side] = new File([photo], side === 'front' ? jobName(job) : `${side} photo`);
    }
    setPhotos(loaded);
  };
  const make = (chosen: ObjectPhotos) =>
    void run(async () => {
      setPhotos(undefined);
      const details = { key: newIdempotencyKey(), name: job.label ?? '' };
      const id = await sendPhotos(api, await preparePhotos(chosen), details);
      route(`/dashboard/jobs/${id}`);
    });
  return (
    <>
      <Button label="Add photos of other sides" disabled={isRunning} onClick={() => void open()} />
      <Problem text={problem} />
      {photos && (
        <PhotoPlacesDialog
          question="Add photos of other sides"
          explanation="All photos together make a new model. Turn the object by quarter turns in front of the camera, in the same light."
          photos={photos}
          confirmLabel="Make the model"
          onConfirm={make}
          onCancel={() => setPhotos(undefined)}
        />
      )}
    </>
  );
}

/** Shows an unfinished job: its photo, and the phase it is in. */
function WaitingView({ job, photo }: { job: GalleryJob; photo: string | undefined }) {
  return (
    <div class="model waiting">
      {photo && <img src={photo} alt="As uploaded" />}
      <div class="overlay">
        <p role="status">{capitalized(phaseOf(job, estimateOf(job)))}</p>
        <progress max={100} value={job.progress} aria-label="Progress" />
      </div>
    </div>
  );
}

/** Cancels, repeats or deletes a job. `act` runs a request, confirms it, and reads the job again. */
function JobActions(props: { job: GalleryJob; act: (request: () => Promise<unknown>, message: string) => void }) {
  const { api, account } = useSession();
  const { route } = useLocation();
  const { job, act } = props;
  const { task_id, status, can_cancel, can_retry } = job;
  const remove = async () => {
    await deleteJob(api, task_id);
    route(galleryUrl);
  };
  const tryAgain = async () => route(`/dashboard/jobs/${await retryJob(api, task_id)}`);
  return (
    <div class="row">
      {can_retry && (
        <Button
          label={status === 'SUCCEEDED' ? 'Make again' : 'Try again'}
          class={status !== 'SUCCEEDED' && retryMayHelp(job) ? 'primary' : undefined}
          onClick={() => act(tryAgain, '')}
        />
      )}
      {job.model_urls && <AddSides job={job} />}
      {can_cancel && (
        <ConfirmButton
          label="Cancel the job"
          question="Cancel this job?"
          consequence="This photo does not become a model. A canceled job costs nothing."
          onConfirm={() => act(() => cancelJob(api, task_id), 'The job was canceled.')}
        />
      )}
      {!account.sandbox && job.status !== 'IN_PROGRESS' && (
        <ConfirmButton
          label="Delete"
          question={`Delete ${jobName(job)}?`}
          consequence={deleteConsequence}
          onConfirm={() => act(remove, '')}
        />
      )}
    </div>
  );
}

/** Shows how long each stage of a job took, in order. The rest of `tookMs` is the queue. */
function StageTimes({ stages, tookMs }: { stages: readonly StageTime[]; tookMs: number }) {
  const worked = stages.reduce((sum, { ms }) => sum + ms, 0);
  return (
    <dl class="stages">
      {[{ stage: 'queue', ms: Math.max(0, tookMs - worked) }, ...stages].map(({ stage, ms }) => (
        <Fact key={stage} name={capitalized(stageName(stage))}>
          {milliseconds(ms)}
        </Fact>
      ))}
    </dl>
  );
}

const grouped = new Intl.NumberFormat('en-US');

/** Requests a file's size in bytes. Undefined until it is known, or if the file's host does not report it. */
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
function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  const isEmpty = Array.isArray(children) && children.length === 0;
  if (children === undefined || children === null || children === false || isEmpty) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** Lists facts about a job and its model. `figures` is set once the viewer has loaded the model. */
function JobFacts(props: { job: GalleryJob; details: JobDetails; figures: ModelFigures | undefined }) {
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
        {Object.entries(details.image_urls).map(([side, url]) => (
          <a key={side} href={url} target="_blank" rel="noreferrer noopener">
            {new URL(url).host}
          </a>
        ))}
      </Fact>
      <Fact name="Job">
        <code>{job.task_id}</code>
      </Fact>
    </dl>
  );
}
