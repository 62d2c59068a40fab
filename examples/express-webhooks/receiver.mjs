// GEN3D_WEBHOOK_SECRET=whsec_… PORT=3000 node receiver.mjs
// gen3d delivers events to https URLs only. Run a TLS proxy or tunnel, and pass its URL to `gen3d webhook set`.
import { verifyWebhook, WebhookVerificationError } from '@gen3d/sdk';
import express from 'express';

const secret = process.env.GEN3D_WEBHOOK_SECRET;
if (!secret) {
  console.error('Set GEN3D_WEBHOOK_SECRET to the secret that `gen3d webhook get` shows');
  process.exit(1);
}

const app = express();

// The signature covers the raw bytes, so this route must receive them before a JSON parser does.
app.post('/gen3d', express.raw({ type: 'application/json', limit: '1mb' }), async (request, response) => {
  let event;
  try {
    event = await verifyWebhook({ payload: request.body, headers: request.headers, secret });
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    return response.status(400).send(error.message);
  }
  // Events are delivered at least once. After a lost response, an event_id arrives again.
  if (isNew(event.event_id)) handle(event);
  // The delivery fails without a response within 10 s. Put longer work into a queue.
  response.status(204).end();
});

// Later routes may parse JSON.
app.use(express.json());

/** With a database, use a table with a unique column instead, written in the transaction that handles the event. */
const seen = new Set();
function isNew(eventId) {
  if (seen.has(eventId)) return false;
  seen.add(eventId);
  // Retries end after about 8 hours. Most apps receive fewer than 10,000 events in that time.
  if (seen.size > 10_000) seen.delete(seen.values().next().value);
  return true;
}

function handle(event) {
  if (event.event === 'ping') return console.log('ping');
  const { task_id, status, progress, model_urls, error } = event;
  if (status === 'SUCCEEDED') console.log(`${task_id} is done: ${model_urls?.glb}`);
  else if (status === 'FAILED') console.log(`${task_id} failed: ${error?.code}`);
  else console.log(`${task_id} ${status} ${progress} %`);
}

const server = app.listen(process.env.PORT ?? 3000, () => {
  console.log(`Listening on http://localhost:${server.address().port}/gen3d`);
});
