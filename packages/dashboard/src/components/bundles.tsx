import { BundleOverview, type BundlePull } from '@gen3d/schema/dashboard';
import { useEffect, useState } from 'preact/hooks';
import { fileSize, seconds } from '../format.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';
import { Button, ConfirmButton } from './buttons.js';
import { Problem, Success, useAction } from './feedback.js';
import { actionsColumn, type Column, Table } from './table.js';

const installedColumns: readonly Column[] = [
  { name: 'Bundle' },
  { name: 'Purpose' },
  { name: 'License of the weights' },
  { name: 'Size', right: true },
  actionsColumn,
];
const offeredColumns: readonly Column[] = [
  { name: 'Bundle' },
  { name: 'License of the weights' },
  { name: 'Memory on a CPU', right: true },
  { name: 'Photo on this CPU', right: true },
  { name: 'Size', right: true },
  actionsColumn,
];
/** A pull of more than this asks first. */
const askedFromBytes = 1e9;

const onThisCpu = (cpuSeconds: number | null) =>
  cpuSeconds === null ? '' : ` Without a GPU, a photo takes about ${seconds(cpuSeconds)} there.`;

const purposes = {
  reconstruction: 'Makes the model',
  matte: 'Cuts the object out',
  http: 'Makes the model, on a model server',
} as const;

/** Lists installed bundles and those of the catalog. Pulls bundles, and chooses those that the next job uses. */
export function Bundles() {
  const { api } = useSession();
  const [overview, setOverview] = useState<BundleOverview>();
  const { problem, success, actionCount, run } = useAction();
  const loadProblem = usePolling(async () => {
    const newOverview = await api.get('/operator/bundles', BundleOverview);
    setOverview(newOverview);
    return newOverview.pull?.status === 'running';
  }, actionCount);
  const change = (method: 'POST' | 'DELETE', path: string, message: string, body?: object) =>
    run(() => api.send(method, `/operator/bundles/${path}`, body), message);

  if (!overview) return <Problem text={loadProblem} />;
  const { installed, damaged, offered, pull } = overview;
  const isPulling = pull?.status === 'running';
  return (
    <>
      <section>
        <h2>Bundles</h2>
        <Problem text={problem ?? overview.problem ?? undefined} />
        <Table columns={installedColumns}>
          {installed.map(({ name, title, kind, license, bytes, in_use }) => (
            <tr key={name}>
              <td>
                <strong>{title}</strong>
                <br />
                <code class="hint">{name}</code>
              </td>
              <td data-label="Purpose">{purposes[kind]}</td>
              <td data-label="License of the weights">{license}</td>
              <td class="right number" data-label="Size">
                {bytes === 0 ? (kind === 'http' ? 'elsewhere' : 'built in') : fileSize(bytes)}
              </td>
              <td class="right">
                {in_use ? (
                  <span class="badge succeeded">In use</span>
                ) : (
                  <Button
                    label="Use"
                    class="small"
                    aria-label={`Use ${name}`}
                    onClick={() => change('POST', 'use', `The next job uses ${title}.`, { name })}
                  />
                )}
              </td>
            </tr>
          ))}
          {damaged.map(({ name, problem }) => (
            <tr key={name}>
              <td>
                <code>{name}</code>
              </td>
              <td class="full-row" colSpan={4}>
                Damaged: {problem}
              </td>
            </tr>
          ))}
        </Table>
        {pull && <PullStatus pull={pull} onCancel={() => change('DELETE', 'pull', 'The pull was canceled.')} />}
        <Success text={success} />
      </section>
      {offered.length > 0 && (
        <section>
          <h2>Catalog</h2>
          <p class="hint">
            Bundles are pulled to <code>{overview.directory}</code> on {overview.host}, where{' '}
            {fileSize(overview.free_disk_bytes)} are free. Other machines have their own folders.
          </p>
          <Table columns={offeredColumns}>
            {offered.map(({ name, title, description, license, memory_bytes, cpu_seconds, bytes }) => (
              <tr key={name}>
                <td>
                  <strong>{title}</strong>
                  {name === overview.recommended && <span class="hint"> Recommended here for better shapes</span>}
                  <br />
                  <span class="hint">{description}</span>
                </td>
                <td data-label="License of the weights">{license}</td>
                <td class="right number" data-label="Memory on a CPU">
                  {memory_bytes === null ? 'not known' : fileSize(memory_bytes)}
                </td>
                <td class="right number" data-label="Photo on this CPU">
                  {cpu_seconds === null ? 'not known' : seconds(cpu_seconds)}
                </td>
                <td class="right number" data-label="Size">
                  {fileSize(bytes)}
                </td>
                <td class="right">
                  {bytes > askedFromBytes && !isPulling ? (
                    <ConfirmButton
                      small
                      label="Pull"
                      ariaLabel={`Pull ${name}`}
                      question={`Pull ${title}?`}
                      consequence={`${fileSize(bytes)} are downloaded to ${overview.host}.${onThisCpu(cpu_seconds)}`}
                      onConfirm={() => change('POST', 'pull', '', { name })}
                    />
                  ) : (
                    <Button
                      label="Pull"
                      class="small"
                      aria-label={`Pull ${name}`}
                      disabled={isPulling}
                      onClick={() => change('POST', 'pull', '', { name })}
                    />
                  )}
                </td>
              </tr>
            ))}
          </Table>
        </section>
      )}
    </>
  );
}

function PullStatus({ pull, onCancel }: { pull: BundlePull; onCancel: () => void }) {
  const { name, status, received_bytes, total_bytes, problem } = pull;
  if (status === 'done') return <p role="status">{name} is installed.</p>;
  if (status === 'canceled') return null;
  if (status === 'failed') return <Problem text={`Pulling ${name} failed: ${problem}`} />;
  const isComplete = total_bytes > 0 && received_bytes >= total_bytes;
  return (
    <div class="panel">
      <p role="status">
        {isComplete ? `Checking ${name}` : `Pulling ${name}: ${fileSize(received_bytes)} of ${fileSize(total_bytes)}`}
      </p>
      <progress
        aria-label={`Progress of ${name}`}
        {...(total_bytes > 0 && !isComplete && { max: total_bytes, value: received_bytes })}
      />
      <div class="row end">
        <Button label="Cancel" class="small" onClick={onCancel} />
      </div>
    </div>
  );
}

/** Names the bundle that makes better shapes on the server's machine, for an operator who may not know of it. */
export function BetterBundle() {
  const { api } = useSession();
  const [overview, setOverview] = useState<BundleOverview>();
  useEffect(() => {
    // A recommendation is a courtesy, so a failure shows nothing.
    api.get('/operator/bundles', BundleOverview).then(setOverview, () => {});
  }, [api]);
  const better = overview?.offered.find(({ name }) => name === overview.recommended);
  if (!better) return null;
  const { title, bytes, license, cpu_seconds } = better;
  return (
    <p class="hint">
      For better shapes, pull {title} on the <a href="/dashboard/operator">operator page</a> ({fileSize(bytes)},{' '}
      {license}
      {cpu_seconds !== null && `; about ${seconds(cpu_seconds)} a photo on the CPU of ${overview?.host}`}).
    </p>
  );
}
