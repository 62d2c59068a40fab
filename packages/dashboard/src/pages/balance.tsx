import { Balance, type LedgerEntry, LedgerPage } from '@gen3d/schema/dashboard';
import { useState } from 'preact/hooks';
import { Problem } from '../components/feedback.js';
import { type Column, ShowMore, Table, Tile } from '../components/table.js';
import { dateTime, seconds, usd } from '../format.js';
import { jobName } from '../jobs.js';
import { useTitle } from '../layout.js';
import { usePolling } from '../polling.js';
import { readPages } from '../read-pages.js';
import { useSession } from '../session.js';

const columns: readonly Column[] = [
  { name: 'Date' },
  { name: 'Entry' },
  { name: 'Inference', right: true },
  { name: 'Amount', right: true },
];

/** Shows the account's balance and ledger. If every rate is 0, shows its models instead, in seconds of work. */
export function BalancePage() {
  const { api, charges } = useSession();
  const title = charges ? 'Balance' : 'Usage';
  useTitle(title);
  const [balance, setBalance] = useState<Balance>();
  const [entries, setEntries] = useState<LedgerEntry[]>();
  const [hasMore, setHasMore] = useState(false);
  /** How many entries are wanted. The server sends a page of them at a time. */
  const [count, setCount] = useState(1);

  const problem = usePolling(async (isCurrent) => {
    const wanted = { count, sizeOf: ({ entries }: LedgerPage) => entries.length };
    const ledger = await readPages(api, '/ledger?', LedgerPage, wanted);
    const balance = await api.get('/balance', Balance);
    if (!isCurrent()) return false;
    setBalance(balance);
    setEntries(ledger.pages.flatMap(({ entries }) => entries));
    setHasMore(ledger.hasMore);
    return false;
  }, count);

  const isLow = balance !== undefined && balance.balance_usd < balance.min_balance_usd;
  const shownEntries = charges ? entries : entries?.filter(({ kind }) => kind === 'charge');
  return (
    <>
      <h1>{title}</h1>
      <Problem text={problem} />
      {!charges && isLow && (
        <Problem
          text={`New jobs are refused, because the account’s balance is below ${usd(balance.min_balance_usd)}. The operator can credit it on the operator page, or with: gen3d admin account credit`}
        />
      )}
      {balance && charges && <BalanceTiles balance={balance} />}
      {shownEntries && (
        <section>
          <h2>{charges ? 'Ledger' : 'Models'}</h2>
          {shownEntries.length === 0 ? (
            <p class="hint">{charges ? 'No entries yet.' : 'No models yet.'}</p>
          ) : (
            <Table columns={charges ? columns : columns.slice(0, 3)}>
              {shownEntries.map((entry) => (
                <tr key={entry.entry_id}>
                  <td>{dateTime(entry.created_at)}</td>
                  <td>
                    {entry.task_id ? (
                      <a href={`/dashboard/jobs/${entry.task_id}`}>
                        {jobName({ label: entry.label, task_id: entry.task_id })}
                      </a>
                    ) : entry.amount_usd < 0 ? (
                      'Deduction'
                    ) : (
                      'Credit'
                    )}
                  </td>
                  <td class={charges ? 'right number wide-screen' : 'right number'}>
                    {entry.inference_seconds === null
                      ? '–'
                      : `${seconds(entry.inference_seconds)} on ${entry.instance}`}
                  </td>
                  {charges && <td class="right number">{usd(entry.amount_usd)}</td>}
                </tr>
              ))}
            </Table>
          )}
          {hasMore && <ShowMore onClick={() => setCount((entries?.length ?? 0) + 1)} />}
        </section>
      )}
    </>
  );
}

function BalanceTiles({ balance: { balance_usd, min_balance_usd, rates } }: { balance: Balance }) {
  const isLow = balance_usd < min_balance_usd;
  return (
    <div class="tiles">
      <Tile label="Balance" value={usd(balance_usd)} low={isLow}>
        {isLow
          ? `New jobs are refused below ${usd(min_balance_usd)}`
          : `New jobs need a balance of at least ${usd(min_balance_usd)}`}
      </Tile>
      <div class="tile">
        <span class="label">Price</span>
        {Object.entries(rates).map(([instance, rate]) => (
          <span key={instance}>
            <strong>{rate === 0 ? 'Free' : usd(rate)}</strong>
            <span class="hint"> {rate === 0 ? `on ${instance}` : `per second of inference on ${instance}`}</span>
          </span>
        ))}
      </div>
    </div>
  );
}
