import { useCallback, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { JobStatus, OperatorAccount, Overview } from '../api.js';
import { Problem } from '../parts/problem.js';
import { actions, type Column, Table } from '../parts/table.js';
import { Workers, workersInWords } from '../parts/workers.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';
import { ago, statusWords, usd, when } from '../words.js';
import { NotFoundPage } from './not-found.js';

const columns: readonly Column[] = [
  { name: 'Account' },
  { name: 'Since' },
  { name: 'Open jobs', right: true },
  { name: 'Balance', right: true },
  actions,
];

export function OperatorPage() {
  useTitle('Operator');
  const { role, call, chooseAccount, refresh } = useSession();
  const { route } = useLocation();
  const [overview, setOverview] = useState<Overview>();
  const [accounts, setAccounts] = useState<OperatorAccount[]>([]);
  const [problem, setProblem] = useState<string>();
  const [said, setSaid] = useState('');
  const [credited, setCredited] = useState<OperatorAccount>();
  const dialog = useRef<HTMLDialogElement>(null);

  const load = useCallback(async () => {
    const [now, list] = await Promise.all([
      call<Overview>('GET', '/operator/overview'),
      call<{ accounts: OperatorAccount[] }>('GET', '/operator/accounts'),
    ]);
    setOverview(now);
    setAccounts(list.accounts);
    return now;
  }, [call]);
  usePolling(async () => {
    if (role !== 'operator') return false;
    return (await load()).oldest_open_at !== null;
  }, role);

  const attempt = async (act: () => Promise<unknown>, success: string) => {
    setSaid('');
    try {
      await act();
      await Promise.all([load(), refresh()]);
      setProblem(undefined);
      setSaid(success);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };

  if (role !== 'operator') return <NotFoundPage />;
  if (!overview) return null;
  const open = (['PENDING', 'QUEUED', 'IN_PROGRESS'] as const).reduce((sum, one) => sum + (overview.jobs[one] ?? 0), 0);
  return (
    <>
      <h1>Operator</h1>
      <Problem text={problem} />
      <div class="tiles">
        <div class="tile">
          <span class="label">Open jobs</span>
          <strong>{open}</strong>
          <span class="hint">
            {overview.oldest_open_at ? `oldest from ${ago(overview.oldest_open_at)}` : 'nothing waits'}
          </span>
        </div>
        <div class="tile">
          <span class="label">Workers</span>
          <strong>{overview.runners.length}</strong>
          <span class="hint">{workersInWords(overview.runners)}</span>
        </div>
        <div class="tile">
          <span class="label">Webhook events waiting</span>
          <strong>{overview.events.waiting}</strong>
          <span class="hint">{overview.events.dead} given up</span>
        </div>
        <div class="tile">
          <span class="label">Memory of the server</span>
          <strong>{Math.round(overview.memory_bytes / 1e6)} MB</strong>
          <span class="hint">
            up for {Math.floor(overview.uptime_seconds / 3_600)} h {Math.floor((overview.uptime_seconds % 3_600) / 60)}{' '}
            min
          </span>
        </div>
      </div>
      <section>
        <h2>Accounts</h2>
        <Table columns={columns}>
          {accounts.map((account) => (
            <tr key={account.account_id}>
              <td>
                <strong>{account.name}</strong>
                <br />
                <code class="hint">{account.account_id}</code>
              </td>
              <td data-label="Since">{when(account.created_at)}</td>
              <td class="right number" data-label="Open jobs">
                {account.open_jobs}
              </td>
              <td class="right number" data-label="Balance">
                {usd(account.balance_usd)}
              </td>
              <td class="right">
                <div class="row end">
                  {!account.sandbox && (
                    <button
                      type="button"
                      class="small"
                      aria-label={`Credit ${account.name}`}
                      onClick={() => {
                        setCredited(account);
                        dialog.current?.showModal();
                      }}
                    >
                      Credit
                    </button>
                  )}
                  <button
                    type="button"
                    class="small"
                    aria-label={`Open ${account.name}`}
                    onClick={() => {
                      chooseAccount(account.account_id);
                      route('/');
                    }}
                  >
                    Open
                  </button>
                </div>
              </td>
            </tr>
          ))}
        </Table>
        <form
          class="panel row bottom"
          onSubmit={(event) => {
            event.preventDefault();
            const form = event.currentTarget;
            const data = new FormData(form);
            const body = { name: String(data.get('name')), balance_usd: Number(data.get('balance')) };
            void attempt(async () => {
              await call('POST', '/operator/accounts', body);
              form.reset();
            }, `The account “${body.name}” is made. Open it to create its key.`);
          }}
        >
          <label>
            New account
            <input name="name" required maxLength={100} placeholder="Name" />
          </label>
          <label>
            Balance in USD
            <input name="balance" type="number" min={0} max={1_000_000} step="any" defaultValue={10} required />
          </label>
          <button type="submit" class="primary">
            Create account
          </button>
        </form>
        <p role="status" class="said">
          {said}
        </p>
      </section>
      <section>
        <h2>Workers</h2>
        <Workers runners={overview.runners} version={overview.version} />
      </section>
      <section>
        <h2>Server</h2>
        <dl>
          <dt>gen3d</dt>
          <dd>{overview.version}</dd>
          <dt>Jobs open, or of the last 24 hours</dt>
          <dd>
            {(Object.entries(overview.jobs) as [JobStatus, number][])
              .map(([status, count]) => `${count} ${statusWords[status].toLowerCase()}`)
              .join(', ') || 'none'}
          </dd>
          <dt>Model</dt>
          <dd>
            {overview.bundle}, cut out by {overview.matte}
          </dd>
          <dt>Database</dt>
          <dd>{overview.database}</dd>
          <dt>Node</dt>
          <dd>
            {overview.node} on {overview.platform}
          </dd>
        </dl>
      </section>
      <dialog ref={dialog} aria-labelledby="credit-title">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            dialog.current?.close();
            const amount = Number(new FormData(event.currentTarget).get('usd'));
            if (!credited) return;
            void attempt(
              () => call('POST', `/operator/accounts/${credited.account_id}/credit`, { usd: amount }),
              `${usd(amount)} for “${credited.name}”.`,
            );
          }}
        >
          <h2 id="credit-title">Credit {credited?.name}</h2>
          <label>
            Amount in USD; a negative one takes some back
            <input name="usd" type="number" step="any" min={-1_000_000} max={1_000_000} required />
          </label>
          <div class="row end">
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="submit" class="primary">
              Credit
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
