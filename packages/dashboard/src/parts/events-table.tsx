import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { WebhookEvent } from '../api.js';
import { ago, statusWords, when } from '../words.js';
import { Deliveries } from './deliveries.js';
import { actions, type Column, Table } from './table.js';

const states: Record<WebhookEvent['state'], { word: string; kind: string }> = {
  waiting: { word: 'On its way', kind: 'pending' },
  retrying: { word: 'Will retry', kind: 'queued' },
  dead: { word: 'Given up', kind: 'failed' },
  delivered: { word: 'Delivered', kind: 'succeeded' },
  dropped: { word: 'Dropped', kind: 'canceled' },
};

/** Whether more will become of an event by itself. */
export const isOnItsWay = ({ state }: WebhookEvent): boolean => state === 'waiting' || state === 'retrying';

const columns: readonly Column[] = [
  { name: 'State' },
  { name: 'Event' },
  { name: 'Attempts' },
  { name: 'Last answer' },
  { name: 'Next' },
  actions,
];

/** What was or will be sent to the endpoint. Each row opens to show its deliveries. */
export function EventsTable(props: {
  events: readonly WebhookEvent[];
  action?: (event: WebhookEvent) => ComponentChildren;
}) {
  return (
    <Table columns={columns}>
      {props.events.map((event) => (
        <EventRows key={event.event_id} event={event} action={props.action?.(event)} />
      ))}
    </Table>
  );
}

function EventRows({ event, action }: { event: WebhookEvent; action: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const { word, kind } = states[event.state];
  return (
    <>
      <tr data-event={event.event_id}>
        <td>
          <span class={`badge ${kind}`}>{word}</span>
        </td>
        <td>
          <code>{event.event}</code>
          {event.task_id && event.status && (
            <>
              {' '}
              <a href={`/dashboard/jobs/${event.task_id}`}>
                {statusWords[event.status]} {event.progress} %
              </a>
            </>
          )}
          <br />
          <time class="hint" dateTime={event.created_at}>
            {when(event.created_at)}
          </time>
        </td>
        <td data-label="Attempts">{event.attempts}</td>
        <td data-label="Last answer">{event.last_answer ?? '–'}</td>
        <td data-label="Next" class={event.next_attempt_at ? undefined : 'extra'}>
          {event.next_attempt_at ? ago(event.next_attempt_at) : '–'}
        </td>
        <td class="right">
          <div class="row end">
            {action}
            <button
              type="button"
              class="small"
              aria-expanded={open}
              aria-controls={id}
              aria-label={`Details of the event ${event.event_id}`}
              onClick={() => setOpen(!open)}
            >
              Details
            </button>
          </div>
        </td>
      </tr>
      <tr id={id} class="opened" hidden={!open}>
        <td colSpan={columns.length}>
          {open && <Deliveries eventId={event.event_id} round={`${event.state} ${event.attempts}`} />}
        </td>
      </tr>
    </>
  );
}
