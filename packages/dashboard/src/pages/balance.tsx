import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Balance, Day, LedgerEntry } from '../api.js';
import { Problem } from '../parts/problem.js';
import { SpendChart } from '../parts/spend-chart.js';
import { Table } from '../parts/table.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';
import { seconds, usd, when } from '../words.js';

const columns = [{ name: 'When' }, { name: 'What' }, { name: 'Inference' }, { name: 'Amount', right: true }];

interface LedgerPage {
  entries: LedgerEntry[];
  next_cursor?: string;
}

export function BalancePage() {
  useTitle('Balance');
  const { call } = useSession();
  const [balance, setBalance] = useState<Balance>();
  const [days, setDays] = useState<Day[]>([]);
  const [entries, setEntries] = useState<LedgerEntry[]>([]);
  const [cursor, setCursor] = useState<string>();
  const [problem, setProblem] = useState<string>();

  const load = useCallback(
    async (after?: string) => {
      try {
        const query = after === undefined ? '' : `?${new URLSearchParams({ cursor: after })}`;
        const page = await call<LedgerPage>('GET', `/ledger${query}`);
        setEntries((known) => (after === undefined ? page.entries : [...known, ...page.entries]));
        setCursor(page.next_cursor);
      } catch (error) {
        setProblem((error as Error).message);
      }
    },
    [call],
  );
  useEffect(() => {
    const failed = (error: Error) => setProblem(error.message);
    call<Balance>('GET', '/balance').then(setBalance, failed);
    call<{ days: Day[] }>('GET', '/ledger/days').then((answer) => setDays(answer.days), failed);
    void load();
  }, [call, load]);

  return (
    <>
      <h1>Balance</h1>
      <Problem text={problem} />
      {balance && (
        <div class="tiles">
          <div class="tile">
            <span class="label">Balance</span>
            <strong class={balance.balance_usd < balance.min_balance_usd ? 'low' : ''}>
              {usd(balance.balance_usd)}
            </strong>
            <span class="hint">
              {balance.balance_usd < balance.min_balance_usd
                ? `New jobs need at least ${usd(balance.min_balance_usd)}`
                : `New jobs are taken down to ${usd(balance.min_balance_usd)}`}
            </span>
          </div>
          <div class="tile">
            <span class="label">Price</span>
            {Object.entries(balance.rates).map(([instance, rate]) => (
              <span key={instance}>
                <strong>{rate === 0 ? 'Free' : usd(rate)}</strong>
                <span class="hint"> {rate === 0 ? `on ${instance}` : `a second of inference on ${instance}`}</span>
              </span>
            ))}
            {Object.keys(balance.rates).length === 0 && <strong>–</strong>}
          </div>
        </div>
      )}
      {days.length > 0 && <SpendChart days={days} />}
      <section>
        <h2>Ledger</h2>
        <Table columns={columns}>
          {entries.map((entry) => (
            <tr key={entry.entry_id}>
              <td>{when(entry.created_at)}</td>
              <td>
                {entry.task_id ? <a href={`/dashboard/jobs/${entry.task_id}`}>Model</a> : null}
                {!entry.task_id && (entry.amount_usd < 0 ? 'Taken back' : 'Credit')}
              </td>
              <td class="extra">
                {entry.inference_seconds === null ? '–' : `${seconds(entry.inference_seconds)} on ${entry.instance}`}
              </td>
              <td class="right number">{usd(entry.amount_usd)}</td>
            </tr>
          ))}
        </Table>
        {cursor !== undefined && (
          <p class="row center">
            <button type="button" onClick={() => void load(cursor)}>
              Show more
            </button>
          </p>
        )}
      </section>
    </>
  );
}
