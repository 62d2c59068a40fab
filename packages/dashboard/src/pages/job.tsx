import { useState } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { ApiError, type JobDetails, type Task } from '../api.js';
import { EventsTable, isOnItsWay } from '../parts/events-table.js';
import { useKeptPhoto } from '../parts/job-card.js';
import { Model } from '../parts/model.js';
import { Problem } from '../parts/problem.js';
import { ReplayButton } from '../parts/replay-button.js';
import { type Snippet, Snippets } from '../parts/snippets.js';
import { StageTimes } from '../parts/stage-times.js';
import { StatusBadge } from '../parts/status-badge.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';
import { advice, seconds, usd, when } from '../words.js';
import { NotFoundPage } from './not-found.js';

/** The same call for programs. The photo stands for the one that was sent. */
function snippetsFor(imageUrl: string | null): Snippet[] {
  const server = location.origin;
  const photo = imageUrl ?? 'photo.jpg';
  const quoted = `'${photo.replaceAll("'", `'\\''`)}'`;
  const curl =
    imageUrl === null
      ? `# jq reads the photo into the request
base64 < photo.jpg | tr -d '\\n' | jq -Rs '{type: "image-to-3d", input: {image_urls: ["data:image/jpeg;base64," + .]}}' |
  curl ${server}/v1/jobs -H "Authorization: Bearer $GEN3D_API_KEY" -H 'Content-Type: application/json' -d @-`
      : `curl ${server}/v1/jobs -H "Authorization: Bearer $GEN3D_API_KEY" -H 'Content-Type: application/json' \\
  -d ${`'${JSON.stringify({ type: 'image-to-3d', input: { image_urls: [imageUrl] } }).replaceAll("'", `'\\''`)}'`}`;
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
gen3d create ${quoted} --wait -o model.glb`,
    },
  ];
}

export function JobPage() {
  const { id = '' } = useRoute().params;
  const { call, role } = useSession();
  const [task, setTask] = useState<Task>();
  const [details, setDetails] = useState<JobDetails>();
  const [missing, setMissing] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [said, setSaid] = useState('');
  const [round, setRound] = useState(0);
  const photo = useKeptPhoto(id);
  useTitle('Model');

  usePolling(async () => {
    if (task?.finished_at && !details?.events.some(isOnItsWay)) return false;
    try {
      const now = await call<Task>('GET', `/jobs/${encodeURIComponent(id)}`);
      // After the job: what its end has brought about is then there.
      const more = await call<JobDetails>('GET', `/job-details/${encodeURIComponent(id)}`);
      setTask(now);
      setDetails(more);
      setProblem(undefined);
      return now.finished_at === null || more.events.some(isOnItsWay);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) setMissing(true);
      else setProblem((error as Error).message);
      throw error;
    }
  }, `${id} ${round}`);

  const replay = async (eventId: string) => {
    setSaid('');
    try {
      await call('POST', `/events/${eventId}/replay`);
      setDetails(await call<JobDetails>('GET', `/job-details/${encodeURIComponent(id)}`));
      setProblem(undefined);
      setSaid('It is on its way again.');
      setRound((number) => number + 1);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };

  if (missing) return <NotFoundPage />;
  if (!task || !details) return <Problem text={problem} />;
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
              <Model glb={glb} thumbnail={thumbnail} />
            ) : (
              <div class="model waiting">
                {photo && <img src={photo} alt="What was sent" />}
                {tookMs === null && (
                  <div class="over">
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
            <h1>Model</h1>
            <StatusBadge status={task.status} />
          </div>
          <Problem text={problem} />
          {task.error && (
            <div class="problem" role="alert">
              <strong>{task.error.message}</strong>
              <p>{advice[task.error.code] ?? 'Try another photo.'}</p>
            </div>
          )}
          {glb && (
            <div class="row">
              <a class="button primary" href={glb} download={`${task.task_id}.glb`}>
                Download GLB
              </a>
              {thumbnail && (
                <a class="button" href={thumbnail} download={`${task.task_id}.jpg`}>
                  Thumbnail
                </a>
              )}
            </div>
          )}
          <div class="facts">
            {photo && glb && (
              <figure>
                <img src={photo} alt="What was sent" />
                <figcaption>Photo</figcaption>
              </figure>
            )}
            <dl>
              <dt>Created</dt>
              <dd>{when(task.created_at)}</dd>
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
              {details.cost_usd !== null && (
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
          <h2>Where the time went</h2>
          {details.attempts > 1 && <p class="hint">What earlier attempts took is counted to the queue.</p>}
          <StageTimes stages={details.stages} tookMs={tookMs} inferenceMs={1_000 * (details.inference_seconds ?? 0)} />
        </section>
      )}
      <section>
        <h2>The same call from a program</h2>
        <p class="hint">
          With a key from <a href="/dashboard/keys">API keys</a>
          {role === 'operator' && ', of the account that shall pay'}.
        </p>
        <Snippets snippets={snippetsFor(details.image_url)} label="Language" />
      </section>
      {details.events.length > 0 && (
        <section>
          <h2>Webhook events</h2>
          <EventsTable
            events={details.events}
            action={(event) => <ReplayButton event={event} onReplay={() => void replay(event.event_id)} />}
          />
          <p role="status" class="said">
            {said}
          </p>
        </section>
      )}
    </>
  );
}
