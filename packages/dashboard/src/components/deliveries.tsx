import { type Delivery, DeliveryList } from '@gen3d/schema/dashboard';
import { useEffect, useState } from 'preact/hooks';
import { exactDateTime, milliseconds } from '../format.js';
import { useSession } from '../session.js';
import { Problem } from './feedback.js';

const requestText = ({ url, headers, body }: Delivery['request']) =>
  [`POST ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body].join('\n');

/** All logged deliveries of an event, with request and response. Reads them again when `version` changes. */
export function Deliveries({ eventId, version }: { eventId: string; version: unknown }) {
  const { api } = useSession();
  const [deliveries, setDeliveries] = useState<Delivery[]>();
  const [problem, setProblem] = useState<string>();
  // `version` is a dependency only so that this runs again.
  useEffect(() => {
    api.get(`/events/${eventId}/deliveries`, DeliveryList).then(
      (list) => {
        setDeliveries(list.deliveries);
        setProblem(undefined);
      },
      (error: Error) => setProblem(error.message),
    );
  }, [api, eventId, version]);
  return (
    <>
      <Problem text={problem} />
      {deliveries?.length === 0 && <p class="hint">No attempt yet, or its log has been deleted.</p>}
      {deliveries?.map(({ delivery_id, started_at, took_ms, request, response, failure }) => (
        <section key={delivery_id} class="delivery" aria-label={`Delivery at ${exactDateTime(started_at)}`}>
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
      ))}
    </>
  );
}
