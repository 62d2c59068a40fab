import { GalleryJob, JobDetails } from '@gen3d/schema/dashboard';
import { useState } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { ApiError } from '../api.js';
import { EventsTable, isUndelivered } from '../components/events-table.js';
import { Problem, Success, useAction } from '../components/feedback.js';
import { JobActions } from '../components/job-actions.js';
import { StatusBadge, useKeptPhoto } from '../components/job-card.js';
import { ModelView } from '../components/model-view.js';
import { type Snippet, Snippets } from '../components/snippets.js';
import { StageTimes } from '../components/stage-times.js';
import { dateTime, seconds, usd } from '../format.js';
import { failureAdvice } from '../labels.js';
import { downloadName, jobName } from '../names.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';
import { NotFoundPage } from './not-found.js';

const shellQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Programs that make the same request. `imageUrl` is null for an uploaded photo, which `photo.jpg` then stands for. */
function snippetsFor(imageUrl: string | null): Snippet[] {
  const server = location.origin;
  const photo = imageUrl ?? 'photo.jpg';
  const headers = `-H "Authorization: Bearer $GEN3D_API_KEY" -H 'Content-Type: application/json'`;
  const curl =
    imageUrl === null
      ? `# jq inserts the photo into the request
base64 < photo.jpg | tr -d '\\n' | jq -Rs '{type: "image-to-3d", input: {image_urls: ["data:image/jpeg;base64," + .]}}' |
  curl ${server}/v1/jobs ${headers} -d @-`
      : `curl ${server}/v1/jobs ${headers} \\
  -d ${shellQuoted(JSON.stringify({ type: 'image-to-3d', input: { image_urls: [imageUrl] } }))}`;
  return [
    { name: 'curl', code: curl },
    {
      name: 'SDK',
      code: `import { writeFile } from 'node:fs/promises';
import { Gen3d } from '@gen3d/sdk';

const gen3d = new Gen3d({ apiKey: process.env.GEN3D_API_KEY, baseUrl: '${server}' });
const task = await gen3d.generate(${JSON.stringify(photo)});
await writeFile('model.glb', await gen3d.download(task));`,
    },
    {
      name: 'CLI',
      code: `export GEN3D_BASE_URL=${server}   # and GEN3D_API_KEY
gen3d create ${shellQuoted(photo)} --wait -o model.glb`,
    },
  ];
}

export function JobPage() {
  const id = encodeURIComponent(useRoute().params.id ?? '');
  const { api, role, charges } = useSession();
  const [task, setTask] = useState<GalleryJob>();
  const [details, setDetails] = useState<JobDetails>();
  const [missing, setMissing] = useState(false);
  const [loadProblem, setLoadProblem] = useState<string>();
  const { problem, success, run } = useAction();
  const [actionCount, setActionCount] = useState(0);
  /** `actionCount` when the job was read last. */
  const [loadedAfter, setLoadedAfter] = useState(0);
  const photo = useKeptPhoto(id);
  const name = task ? jobName(task) : 'Model';
  useTitle(name);

  usePolling(async () => {
    const isLoaded = task?.task_id === id && task.finished_at && loadedAfter === actionCount;
    if (isLoaded && !details?.events.some(isUndelivered)) return false;
    try {
      const newTask = await api.get(`/gallery/${id}`, GalleryJob);
      // After the task, so that the details of a finished job are complete.
      const newDetails = await api.get(`/job-details/${id}`, JobDetails);
      setTask(newTask);
      setDetails(newDetails);
      setLoadedAfter(actionCount);
      setLoadProblem(undefined);
      return newTask.finished_at === null || newDetails.events.some(isUndelivered);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) setMissing(true);
      else setLoadProblem((error as Error).message);
      throw error;
    }
  }, `${id} ${actionCount}`);

  const replay = async (eventId: string) => {
    await run(async () => {
      await api.send('POST', `/events/${eventId}/replay`);
      setDetails(await api.get(`/job-details/${id}`, JobDetails));
      setActionCount((count) => count + 1);
    }, 'The event will be sent again.');
  };

  const act = async (request: () => Promise<unknown>, message: string) => {
    await run(request, message);
    setActionCount((count) => count + 1);
  };

  if (missing) return <NotFoundPage />;
  if (!task || !details) return <Problem text={loadProblem} />;
  const glb = task.model_urls?.glb;
  const thumbnail = task.thumbnail_url ?? undefined;
  const tookMs = task.finished_at === null ? null : Date.parse(task.finished_at) - Date.parse(task.created_at);
  return (
    <>
      <p class="crumbs">
        <a href="/">Models</a>
      </p>
      <div class="job">
        {(glb || photo || tookMs === null) && (
          <section aria-label="Model">
            {glb ? (
              <ModelView glb={glb} thumbnail={thumbnail} />
            ) : (
              <div class="model waiting">
                {photo && <img src={photo} alt="As uploaded" />}
                {tookMs === null && (
                  <div class="overlay">
                    <p role="status">{task.progress} %</p>
                    <progress max={100} value={task.progress} aria-label="Progress" />
                  </div>
                )}
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
              <p>{failureAdvice[task.error.code] ?? 'Try another photo.'}</p>
            </div>
          )}
          {glb && (
            <div class="row">
              <a class="button primary" href={glb} download={downloadName(task, 'glb')}>
                Download GLB
              </a>
              {thumbnail && (
                <a class="button" href={thumbnail} download={downloadName(task, 'jpg')}>
                  Thumbnail
                </a>
              )}
            </div>
          )}
          <JobActions job={task} act={(request, message) => void act(request, message)} />
          <Success text={success} />
          <div class="facts">
            {photo && glb && (
              <figure>
                <img src={photo} alt="As uploaded" />
                <figcaption>Photo</figcaption>
              </figure>
            )}
            <dl>
              <dt>Created</dt>
              <dd>{dateTime(task.created_at)}</dd>
              {tookMs !== null && (
                <>
                  <dt>Took</dt>
                  <dd>{seconds(tookMs / 1_000)}</dd>
                </>
              )}
              {details.inference_seconds !== null && (
                <>
                  <dt>Inference</dt>
                  <dd>
                    {seconds(details.inference_seconds)} on {details.instance}
                  </dd>
                </>
              )}
              {details.bundle !== null && (
                <>
                  <dt>Bundle</dt>
                  <dd>{details.bundle}</dd>
                </>
              )}
              {charges && details.cost_usd !== null && (
                <>
                  <dt>Cost</dt>
                  <dd>{usd(details.cost_usd)}</dd>
                </>
              )}
              {details.attempts > 1 && (
                <>
                  <dt>Attempts</dt>
                  <dd>{details.attempts}</dd>
                </>
              )}
              {details.image_url && (
                <>
                  <dt>Photo</dt>
                  <dd>
                    <a href={details.image_url} target="_blank" rel="noreferrer noopener">
                      {new URL(details.image_url).host}
                    </a>
                  </dd>
                </>
              )}
              <dt>Job</dt>
              <dd>
                <code>{task.task_id}</code>
              </dd>
            </dl>
          </div>
        </aside>
      </div>
      {details.stages && tookMs !== null && (
        <section>
          <h2>Time by stage</h2>
          {details.attempts > 1 && <p class="hint">Queue time includes earlier attempts.</p>}
          <StageTimes stages={details.stages} tookMs={tookMs} inferenceMs={1_000 * (details.inference_seconds ?? 0)} />
        </section>
      )}
      <section>
        <h2>The same request from a program</h2>
        <p class="hint">
          Use a key from <a href="/dashboard/keys">API keys</a>
          {role === 'operator' && charges && ' of the account to be charged'}.
        </p>
        <Snippets snippets={snippetsFor(details.image_url)} label="Language" />
      </section>
      {details.events.length > 0 && (
        <section>
          <h2>Webhook events</h2>
          <EventsTable events={details.events} onReplay={(eventId) => void replay(eventId)} />
        </section>
      )}
    </>
  );
}
