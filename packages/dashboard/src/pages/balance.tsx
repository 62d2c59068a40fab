import { Balance, type DailySpend, type LedgerEntry, LedgerPage, SpendHistory } from '@gen3d/schema/dashboard';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { Problem } from '../components/feedback.js';
import { SpendChart } from '../components/spend-chart.js';
import { Table } from '../components/table.js';
import { dateTime, seconds, usd } from '../format.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';

const columns = [{ name: 'Date' }, { name: 'Entry' }, { name: 'Inference' }, { name: 'Amount', right: true }];

export function BalancePage() {
  useTitle('Balance');
  const { api } = useSession();
  const [balance, setBalance] = useState<Balance>();
  const [days, setDays] = useState<DailySpend[]>([]);
  const [entries, setEntries] = useState<LedgerEntry[]>([]);
  const [cursor, setCursor] = useState<string>();
  const [problem, setProblem] = useState<string>();

  const load = useCallback(
    async (after?: string) => {
      try {
        const query = after === undefined ? '' : `?${new URLSearchParams({ cursor: after })}`;
        const page = await api.get(`/ledger${query}`, LedgerPage);
        setEntries((earlier) => (after === undefined ? page.entries : [...earlier, ...page.entries]));
        setCursor(page.next_cursor);
      } catch (error) {
        setProblem((error as Error).message);
      }
    },
    [api],
  );
  useEffect(() => {
    const fail = (error: Error) => setProblem(error.message);
    api.get('/balance', Balance).then(setBalance, fail);
    api.get('/ledger/days', SpendHistory).then((history) => setDays(history.days), fail);
    void load();
  }, [api, load]);

  return (
    <>
      <h1>Balance</h1>
      <Problem text={problem} />
      {balance && <BalanceTiles balance={balance} />}
      {days.length > 0 && <SpendChart days={days} />}
      <section>
        <h2>Ledger</h2>
        <Table columns={columns}>
          {entries.map((entry) => (
            <tr key={entry.entry_id}>
              <td>{dateTime(entry.created_at)}</td>
              <td>
                {entry.task_id ? (
                  <a href={`/dashboard/jobs/${entry.task_id}`}>Model</a>
                ) : entry.amount_usd < 0 ? (
                  'Deduction'
                ) : (
                  'Credit'
                )}
              </td>
              <td class="wide-screen">
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

function BalanceTiles({ balance: { balance_usd, min_balance_usd, rates } }: { balance: Balance }) {
  const isLow = balance_usd < min_balance_usd;
  return (
    <div class="tiles">
      <div class="tile">
        <span class="label">Balance</span>
        <strong class={isLow ? 'low' : ''}>{usd(balance_usd)}</strong>
        <span class="hint">
          {isLow
            ? `New jobs need at least ${usd(min_balance_usd)}`
            : `New jobs are accepted down to ${usd(min_balance_usd)}`}
        </span>
      </div>
      <div class="tile">
        <span class="label">Price</span>
        {Object.entries(rates).map(([instance, rate]) => (
          <span key={instance}>
            <strong>{rate === 0 ? 'Free' : usd(rate)}</strong>
            <span class="hint"> {rate === 0 ? `on ${instance}` : `per second of inference on ${instance}`}</span>
          </span>
        ))}
        {Object.keys(rates).length === 0 && <strong>–</strong>}
      </div>
    </div>
  );
}
