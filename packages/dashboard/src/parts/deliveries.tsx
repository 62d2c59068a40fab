import { useEffect, useState } from 'preact/hooks';
import type { WebhookDelivery } from '../api.js';
import { useSession } from '../session.js';
import { milliseconds, whenExactly } from '../words.js';
import { Problem } from './problem.js';

const requestText = ({ url, headers, body }: WebhookDelivery['request']) =>
  [`POST ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body].join('\n');

/** Every attempt at delivering an event: what was sent, and what came back. `round` changes when there may be another. */
export function Deliveries({ eventId, round }: { eventId: string; round: unknown }) {
  const { call } = useSession();
  const [deliveries, setDeliveries] = useState<WebhookDelivery[]>();
  const [problem, setProblem] = useState<string>();
  // `round` is not used inside: it is there to ask again.
  useEffect(() => {
    call<{ deliveries: WebhookDelivery[] }>('GET', `/events/${eventId}/deliveries`).then(
      (answer) => {
        setDeliveries(answer.deliveries);
        setProblem(undefined);
      },
      (error: Error) => setProblem(error.message),
    );
  }, [call, eventId, round]);
  return (
    <>
      <Problem text={problem} />
      {deliveries?.length === 0 && <p class="hint">No attempt was made yet, or the log of it is gone.</p>}
      {deliveries?.map(({ delivery_id, started_at, took_ms, request, response, failure }) => (
        <section key={delivery_id} class="delivery" aria-label={`Delivery at ${whenExactly(started_at)}`}>
          <p class="hint">
            <time dateTime={started_at}>{whenExactly(started_at)}</time>, took {milliseconds(took_ms)}
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
                <p class="why">{failure}</p>
              )}
            </div>
          </div>
        </section>
      ))}
    </>
  );
}
