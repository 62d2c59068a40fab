import { type Delivery, type EventEntry, LastDelivery } from '@gen3d/schema/dashboard';
import { useEffect, useId, useState } from 'preact/hooks';
import { dateTime, exactDateTime, milliseconds, relativeTime } from '../format.js';
import { statusLabels } from '../jobs.js';
import { useSession } from '../session.js';
import { Button } from './buttons.js';
import { Problem } from './feedback.js';
import { actionsColumn, type Column, Table } from './table.js';

const states: Record<EventEntry['state'], { label: string; badge: string }> = {
  waiting: { label: 'Waiting', badge: 'pending' },
  retrying: { label: 'Retrying', badge: 'queued' },
  dead: { label: 'Dead letter', badge: 'failed' },
  delivered: { label: 'Delivered', badge: 'succeeded' },
  dropped: { label: 'Dropped', badge: 'canceled' },
};

/** Whether the server will still try to deliver an event. */
export const isUndelivered = ({ state }: EventEntry): boolean => state === 'waiting' || state === 'retrying';

const columns: readonly Column[] = [
  { name: 'State' },
  { name: 'Event' },
  { name: 'Attempts' },
  { name: 'Last result' },
  { name: 'Next attempt' },
  actionsColumn,
];

type OnReplay = (eventId: string) => void;

/** Lists webhook events. Each row opens to show its last delivery, and a dead letter can be replayed. */
export function EventsTable({ events, onReplay }: { events: readonly EventEntry[]; onReplay: OnReplay }) {
  return (
    <Table columns={columns}>
      {events.map((event) => (
        <EventRows key={event.event_id} event={event} onReplay={onReplay} />
      ))}
    </Table>
  );
}

function EventRows({ event, onReplay }: { event: EventEntry; onReplay: OnReplay }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const { label, badge } = states[event.state];
  return (
    <>
      <tr data-event={event.event_id}>
        <td>
          <span class={`badge ${badge}`}>{label}</span>
        </td>
        <td>
          <code>{event.event}</code>
          {event.task_id && event.status && (
            <>
              {' '}
              <a href={`/dashboard/jobs/${event.task_id}`}>
                {statusLabels[event.status]}
                {event.status !== 'FAILED' && event.status !== 'CANCELED' && ` ${event.progress} %`}
              </a>
            </>
          )}
          <br />
          <time class="hint" dateTime={event.created_at}>
            {dateTime(event.created_at)}
          </time>
        </td>
        <td data-label="Attempts">{event.attempts}</td>
        <td data-label="Last result">{event.last_result ?? '–'}</td>
        <td data-label="Next attempt" class={event.next_attempt_at ? undefined : 'wide-screen'}>
          {event.next_attempt_at ? relativeTime(event.next_attempt_at) : '–'}
        </td>
        <td class="right">
          <div class="row end">
            {event.state === 'dead' && (
              <Button
                label="Replay"
                class="small"
                aria-label={`Replay event ${event.event_id}`}
                onClick={() => onReplay(event.event_id)}
              />
            )}
            <Button
              label="Details"
              class="small"
              aria-expanded={open}
              aria-controls={id}
              aria-label={`Details of event ${event.event_id}`}
              onClick={() => setOpen(!open)}
            />
          </div>
        </td>
      </tr>
      <tr id={id} class="details" hidden={!open}>
        <td colSpan={columns.length}>
          {open && <LastDeliveryOf eventId={event.event_id} version={`${event.state} ${event.attempts}`} />}
        </td>
      </tr>
    </>
  );
}

const requestText = ({ url, headers, body }: Delivery['request']) =>
  [`POST ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body].join('\n');

/** Shows the last delivery of an event, with request and response. Reads it again when `version` changes. */
function LastDeliveryOf({ eventId, version }: { eventId: string; version: unknown }) {
  const { api } = useSession();
  const [delivery, setDelivery] = useState<Delivery | null>();
  const [problem, setProblem] = useState<string>();
  // `version` is a dependency only so that this runs again.
  useEffect(() => {
    api.get(`/events/${eventId}/delivery`, LastDelivery).then(
      (last) => {
        setDelivery(last.delivery);
        setProblem(undefined);
      },
      (error: Error) => setProblem(error.message),
    );
  }, [api, eventId, version]);
  if (!delivery) return delivery === null ? <p class="hint">No attempt yet.</p> : <Problem text={problem} />;
  const { started_at, took_ms, request, response, failure } = delivery;
  return (
    <section class="delivery" aria-label={`Delivery at ${exactDateTime(started_at)}`}>
      <Problem text={problem} />
      <p class="hint">
        <time dateTime={started_at}>{exactDateTime(started_at)}</time>, took {milliseconds(took_ms)}
      </p>
      <div class="exchange">
        <div>
          <h3>Request</h3>
          <pre>
            <code>{requestText(request)}</code>
          </pre>
        </div>
        <div>
          <h3>Response</h3>
          {response ? (
            <pre>
              <code>{`HTTP ${response.status}\n\n${response.body || '(no body)'}`}</code>
            </pre>
          ) : (
            <p class="error">{failure}</p>
          )}
        </div>
      </div>
    </section>
  );
}
