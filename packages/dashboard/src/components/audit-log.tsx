import { type AuditEntry, AuditPage } from '@gen3d/schema/dashboard';
import { useState } from 'preact/hooks';
import { dateTime } from '../format.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';
import { Problem, useAction } from './feedback.js';
import { type Column, ShowMore, Table } from './table.js';

const columns: readonly Column[] = [{ name: 'Date' }, { name: 'Action' }, { name: 'Subject' }, { name: 'Who' }];

/** Lists what operators did, newest first. Loads the newest entries again when `revision` changes. */
export function AuditLog({ revision }: { revision: unknown }) {
  const { api } = useSession();
  const [entries, setEntries] = useState<AuditEntry[]>([]);
  const [cursor, setCursor] = useState<string>();
  const [loaded, setLoaded] = useState<unknown>();
  const { problem, run } = useAction();

  const loadMore = (after: string) =>
    run(async () => {
      const page = await api.get(`/operator/audit?${new URLSearchParams({ cursor: after })}`, AuditPage);
      setEntries((earlier) => [...earlier, ...page.entries]);
      setCursor(page.next_cursor);
    });
  const loadProblem = usePolling(async () => {
    // A new first page would discard the pages after it.
    if (loaded === revision) return false;
    const page = await api.get('/operator/audit', AuditPage);
    setEntries(page.entries);
    setCursor(page.next_cursor);
    setLoaded(revision);
    return false;
  }, revision);

  return (
    <section>
      <h2>Audit log</h2>
      <Problem text={problem ?? loadProblem} />
      <Table columns={columns}>
        {entries.map(({ entry_id, who, action, subject, detail, created_at }) => (
          <tr key={entry_id}>
            <td class="full-row">{dateTime(created_at)}</td>
            <td data-label="Action">{action}</td>
            <td data-label="Subject">
              {subject && <code>{subject}</code>} {detail && <span class="hint">{detail}</span>}
            </td>
            <td data-label="Who">{who}</td>
          </tr>
        ))}
      </Table>
      {cursor !== undefined && <ShowMore onClick={() => void loadMore(cursor)} />}
    </section>
  );
}
