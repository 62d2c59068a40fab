import { BundleOverview } from '@gen3d/schema/dashboard';
import { useEffect, useState } from 'preact/hooks';
import { fileSize } from '../format.js';
import { useSession } from '../session.js';
import { Problem } from './feedback.js';
import { type Column, Table } from './table.js';

const columns: readonly Column[] = [
  { name: 'Bundle' },
  { name: 'Purpose' },
  { name: 'License of the weights' },
  { name: 'Size', right: true },
  { name: 'In use', hidden: true },
];

const purposes = {
  reconstruction: 'Makes the model',
  matte: 'Cuts the object out',
  http: 'Makes the model, on a model server',
} as const;

/** Lists the bundles of the server's machine. The command line pulls and chooses them. */
export function Bundles() {
  const { api } = useSession();
  const [overview, setOverview] = useState<BundleOverview>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    api.get('/operator/bundles', BundleOverview).then(setOverview, (error: Error) => setProblem(error.message));
  }, [api]);

  if (!overview) return <Problem text={problem} />;
  const { installed, damaged, directory, host } = overview;
  return (
    <section>
      <h2>Bundles</h2>
      <Table columns={columns}>
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
            <td class="right">{in_use && <span class="badge succeeded">In use</span>}</td>
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
      <p class="hint">
        On {host}, <code>gen3d models list</code> shows the bundles that can be downloaded,{' '}
        <code>gen3d models pull</code> adds one to <code>{directory}</code>, and <code>gen3d models use</code> chooses
        the bundle for the next start. Other machines have their own folders.
      </p>
    </section>
  );
}
