import type { WebhookEvent } from '../api.js';

/** Sends an event again that was given up; there is none for another. */
export function ReplayButton({ event, onReplay }: { event: WebhookEvent; onReplay: () => void }) {
  if (event.state !== 'dead') return null;
  return (
    <button type="button" class="small" aria-label={`Replay the event ${event.event_id}`} onClick={onReplay}>
      Replay
    </button>
  );
}
