// GEN3D_WEBHOOK_SECRET=whsec_… PORT=3000 node receiver.mjs
// The server posts to https addresses: put a TLS proxy or a tunnel in front, and give its URL to `gen3d webhook set`.
import { verifyWebhook, WebhookVerificationError } from '@gen3d/sdk';
import express from 'express';

const secret = process.env.GEN3D_WEBHOOK_SECRET;
if (!secret) {
  console.error('Set GEN3D_WEBHOOK_SECRET: `gen3d webhook get` shows it');
  process.exit(1);
}

const app = express();

// The signature covers the bytes as they were sent, so this route must get them before any JSON parser does.
app.post('/gen3d', express.raw({ type: 'application/json', limit: '1mb' }), async (request, response) => {
  let event;
  try {
    event = await verifyWebhook({ payload: request.body, headers: request.headers, secret });
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    return response.status(400).send(error.message);
  }
  // Deliveries come at least once: after a lost answer the same event_id comes again.
  if (isNew(event.event_id)) handle(event);
  // Within 10 s, or it counts as failed: what takes longer belongs into a queue.
  response.status(204).end();
});

// Below it, parse as you like.
app.use(express.json());

/** An app with a database makes this a table with a unique column, filled in the transaction that does the work. */
const seen = new Set();
function isNew(eventId) {
  if (seen.has(eventId)) return false;
  seen.add(eventId);
  // Retries end after some 8 hours; ten thousand events are more than that for most.
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
