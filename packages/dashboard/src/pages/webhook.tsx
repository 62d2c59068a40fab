import { type EventEntry, EventList, WebhookEndpoint } from '@gen3d/schema/dashboard';
import { describeHealth } from '@gen3d/schema/rules';
import { useState } from 'preact/hooks';
import { Button, Choice, ConfirmButton, CopyButton } from '../components/buttons.js';
import { EventsTable, isUndelivered } from '../components/events-table.js';
import { Problem, Success, useAction } from '../components/feedback.js';
import { dateTime } from '../format.js';
import { useTitle } from '../layout.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';

export function WebhookPage() {
  useTitle('Webhook');
  const { api, account } = useSession();
  /** Undefined while loading, null if none is configured. */
  const [endpoint, setEndpoint] = useState<WebhookEndpoint | null>();
  const [editedUrl, setEditedUrl] = useState<string>();
  const [editedFinalOnly, setEditedFinalOnly] = useState<boolean>();
  const [events, setEvents] = useState<EventEntry[]>();
  const [health, setHealth] = useState<EventList['health']>({});
  const [onlyUndelivered, setOnlyUndelivered] = useState(false);
  const [revealed, setRevealed] = useState(false);
  const { problem, success, actionCount, run } = useAction();

  const loadProblem = usePolling(async () => {
    if (account.sandbox) return false;
    const list = await api.get(`/events?undelivered=${onlyUndelivered}`, EventList);
    setEndpoint(list.configured ? await api.get('/webhook-endpoint', WebhookEndpoint) : null);
    setHealth(list.health);
    setEvents(list.events);
    return list.events.some(isUndelivered);
  }, `${account.account_id} ${onlyUndelivered} ${actionCount}`);

  if (account.sandbox) return <p class="empty">The sandbox is shared by everyone, so it cannot have a webhook.</p>;
  if (endpoint === undefined) return <Problem text={loadProblem} />;
  const url = editedUrl ?? endpoint?.url ?? '';
  const isFinalOnly = endpoint?.events === 'final';
  const finalOnly = editedFinalOnly ?? isFinalOnly;
  const isHttp = /^http:\/\//i.test(url);
  return (
    <>
      <h1>Webhook</h1>
      <p class="lead">
        The server sends a signed POST request to your https endpoint whenever a job changes. Your program then does not
        need to poll.
      </p>
      <form
        class="panel"
        // The server’s message is clearer than the browser’s.
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          run(async () => {
            await api.send('PUT', '/webhook-endpoint', { url, events: finalOnly ? 'final' : 'all' });
            setEditedUrl(undefined);
            setEditedFinalOnly(undefined);
          }, 'Endpoint saved.');
        }}
      >
        <label>
          Endpoint URL
          <input
            type="url"
            name="url"
            required
            placeholder="https://example.com/gen3d"
            value={url}
            onInput={(event) => setEditedUrl(event.currentTarget.value)}
          />
        </label>
        {isHttp && (
          <p class="hint">
            The endpoint needs https. To receive events on your own machine, run{' '}
            <code>gen3d webhook listen --forward-to {url}</code>
          </p>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={finalOnly}
            onChange={(event) => setEditedFinalOnly(event.currentTarget.checked)}
          />
          Only when a job has ended, without its progress
        </label>
        <div class="row">
          <Button
            type="submit"
            label={endpoint ? 'Save' : 'Add endpoint'}
            class="primary"
            disabled={isHttp || (endpoint !== null && url === endpoint.url && finalOnly === isFinalOnly)}
          />
          {endpoint && (
            <>
              <Button
                label="Send a ping"
                onClick={() =>
                  run(() => api.send('POST', '/webhook-endpoint/test'), 'The ping will be sent in about 10 seconds.')
                }
              />
              <ConfirmButton
                label="Remove"
                question="Remove the webhook?"
                consequence="Deliveries stop immediately, and waiting events are dropped. If you set a URL again, it gets a new secret."
                onConfirm={() => run(() => api.send('DELETE', '/webhook-endpoint'), 'Webhook removed.')}
              />
            </>
          )}
        </div>
        {endpoint && (
          <div class="field">
            <span class="label">Signing secret</span>
            <div class="row">
              <code class="secret">
                {revealed ? endpoint.secret : `${endpoint.secret.slice(0, 6)}${'•'.repeat(16)}`}
              </code>
              <Button label={revealed ? 'Hide' : 'Show'} class="small" onClick={() => setRevealed(!revealed)} />
              <CopyButton text={endpoint.secret} name="the secret" />
              <ConfirmButton
                small
                label="Rotate"
                question="Create a new secret?"
                consequence="The old secret stops working immediately: your receiver refuses deliveries until it has the new one."
                onConfirm={() =>
                  run(
                    () => api.send('POST', '/webhook-endpoint/rotate'),
                    'New secret created. Configure your receiver with it.',
                  )
                }
              />
            </div>
          </div>
        )}
      </form>
      <Problem text={problem ?? loadProblem} />
      <Problem text={describeHealth(health, dateTime)} />
      <Success text={success} />
      <section>
        <h2>Receive events</h2>
        <p>
          <a href="/docs/webhooks" target="_top">
            Webhooks
          </a>{' '}
          shows what an event contains, and how to verify its signature before you use it. On your own machine,{' '}
          <code>gen3d webhook listen --forward-to http://127.0.0.1:3000/gen3d</code> forwards the account’s events to
          your program, without a public endpoint.
        </p>
      </section>
      <section>
        <h2>Events</h2>
        <p class="hint">
          Newest first, with requests and responses. The log keeps the account’s last 500 deliveries for 14 days. An
          event whose five retries failed becomes a dead letter, which can be replayed for 14 days.
        </p>
        <Choice
          legend="Show"
          options={[
            { value: 'all', label: 'All' },
            { value: 'undelivered', label: 'Not delivered' },
          ]}
          value={onlyUndelivered ? 'undelivered' : 'all'}
          onChange={(shown) => {
            setOnlyUndelivered(shown === 'undelivered');
            setEvents(undefined);
          }}
        />
        {events?.length === 0 && (
          <p class="empty">{onlyUndelivered ? 'All events have been delivered.' : 'No events yet.'}</p>
        )}
        {events && events.length > 0 && (
          <EventsTable
            events={events}
            onReplay={(eventId) =>
              run(() => api.send('POST', `/events/${eventId}/replay`), 'The event will be sent again.')
            }
          />
        )}
      </section>
    </>
  );
}
