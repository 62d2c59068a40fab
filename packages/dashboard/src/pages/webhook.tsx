import { useState } from 'preact/hooks';
import type { WebhookEvent } from '../api.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyButton } from '../parts/copy-button.js';
import { EventsTable, isOnItsWay } from '../parts/events-table.js';
import { Problem } from '../parts/problem.js';
import { ReplayButton } from '../parts/replay-button.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';

interface Endpoint {
  url: string;
  secret: string;
}

export function WebhookPage() {
  useTitle('Webhook');
  const { call, account } = useSession();
  /** null: none is set. */
  const [endpoint, setEndpoint] = useState<Endpoint | null>();
  const [url, setUrl] = useState<string>();
  const [events, setEvents] = useState<WebhookEvent[]>();
  const [undelivered, setUndelivered] = useState(false);
  const [revealed, setRevealed] = useState(false);
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState<string>();
  const [round, setRound] = useState(0);

  usePolling(async () => {
    if (account.sandbox) return false;
    const log = await call<{ configured: boolean; events: WebhookEvent[] }>(
      'GET',
      `/events?undelivered=${undelivered}`,
    );
    setEndpoint(log.configured ? await call<Endpoint>('GET', '/webhook-endpoint') : null);
    setEvents(log.events);
    return log.events.some(isOnItsWay);
  }, `${account.account_id} ${undelivered} ${round}`);

  const attempt = async (act: () => Promise<unknown>, success: string) => {
    setSaid('');
    try {
      await act();
      setProblem(undefined);
      setSaid(success);
    } catch (error) {
      setProblem((error as Error).message);
    }
    setRound((number) => number + 1);
  };

  if (account.sandbox)
    return <p class="empty">The sandbox is everybody’s, so nobody may point its webhooks anywhere.</p>;
  if (endpoint === undefined) return <Problem text={problem} />;
  const written = url ?? endpoint?.url ?? '';
  return (
    <>
      <h1>Webhook</h1>
      <p class="lead">Every change of a job is posted to one https address, signed with your secret.</p>
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          void attempt(async () => {
            await call('PUT', '/webhook-endpoint', { url: written });
            setUrl(undefined);
          }, 'The address is set.');
        }}
      >
        <label>
          Address
          <input
            type="url"
            name="url"
            required
            placeholder="https://example.com/gen3d"
            pattern="https://.*"
            title="An address that begins with https://"
            value={written}
            onInput={(event) => setUrl(event.currentTarget.value)}
          />
        </label>
        <div class="row">
          <button type="submit" class="primary" disabled={endpoint !== null && written === endpoint.url}>
            {endpoint ? 'Change' : 'Set'}
          </button>
          {endpoint && (
            <>
              <button
                type="button"
                onClick={() =>
                  void attempt(
                    () => call('POST', '/webhook-endpoint/test'),
                    'A ping is on its way; it goes out in about 10 seconds.',
                  )
                }
              >
                Send a ping
              </button>
              <ConfirmButton
                label="Remove"
                question="Remove the webhook?"
                consequence="Deliveries stop at once, and what still waits is dropped. The next address gets a new secret."
                onConfirm={() => void attempt(() => call('DELETE', '/webhook-endpoint'), 'The webhook is removed.')}
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
              <button type="button" class="small" onClick={() => setRevealed(!revealed)}>
                {revealed ? 'Hide' : 'Show'}
              </button>
              <CopyButton text={endpoint.secret} what="the secret" />
              <ConfirmButton
                small
                label="Rotate"
                question="Make a new secret?"
                consequence="The old one stops working at once: your receiver refuses deliveries until it knows the new one."
                onConfirm={() =>
                  void attempt(
                    () => call('POST', '/webhook-endpoint/rotate'),
                    'The secret is new: give it to your receiver.',
                  )
                }
              />
            </div>
          </div>
        )}
      </form>
      <Problem text={problem} />
      <p role="status" class="said">
        {said}
      </p>
      <section>
        <h2>Events</h2>
        <p class="hint">
          Newest first, each with what was sent and what came back. The account’s latest 500 deliveries are kept, for 14
          days; an event that five retries did not deliver is given up, and can be replayed for 14 days.
        </p>
        <fieldset class="filter">
          <legend class="hidden">Show</legend>
          {[false, true].map((one) => (
            <label key={String(one)}>
              <input
                type="radio"
                name="undelivered"
                checked={undelivered === one}
                onChange={() => {
                  setUndelivered(one);
                  setEvents(undefined);
                }}
              />
              <span>{one ? 'Not delivered' : 'All'}</span>
            </label>
          ))}
        </fieldset>
        {events?.length === 0 && (
          <p class="empty">{undelivered ? 'Everything has arrived.' : 'Nothing was sent yet.'}</p>
        )}
        {events && events.length > 0 && (
          <EventsTable
            events={events}
            action={(event) => (
              <ReplayButton
                event={event}
                onReplay={() =>
                  void attempt(() => call('POST', `/events/${event.event_id}/replay`), 'It is on its way again.')
                }
              />
            )}
          />
        )}
      </section>
    </>
  );
}
