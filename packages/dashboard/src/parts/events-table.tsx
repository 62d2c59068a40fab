import type { ComponentChildren } from 'preact';
import type { WebhookEvent } from '../api.js';
import { ago, statusWords, when } from '../words.js';

function state({ dead_at, attempts }: WebhookEvent): { word: string; kind: string } {
  if (dead_at) return { word: 'Given up', kind: 'failed' };
  return attempts > 0 ? { word: 'Will retry', kind: 'queued' } : { word: 'On its way', kind: 'pending' };
}

/** Events that the endpoint has not received. */
export function EventsTable(props: {
  events: readonly WebhookEvent[];
  action?: (event: WebhookEvent) => ComponentChildren;
}) {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Event</th>
            <th scope="col">Attempts</th>
            <th scope="col">Last answer</th>
            <th scope="col">Next</th>
            {props.action && (
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {props.events.map((event) => {
            const { word, kind } = state(event);
            return (
              <tr key={event.event_id}>
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
                <td data-label="Last answer">{event.last_failure ?? '–'}</td>
                <td data-label="Next">{event.next_attempt_at ? ago(event.next_attempt_at) : '–'}</td>
                {props.action && <td class="right">{props.action(event)}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
