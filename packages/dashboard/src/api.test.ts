import { expect, test } from 'vitest';
import { readContacts } from './api.js';

test('a stream says at each part whether that completes an event', async () => {
  const parts = [': connected\n\n', 'id: 1\nda', 'ta: {}\n\n', ': heartbeat\n\n'];
  const contacts: boolean[] = [];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });
  await readContacts(new Response(body), (hasEvent) => contacts.push(hasEvent));
  expect(contacts).toEqual([false, false, true, false]);
});
