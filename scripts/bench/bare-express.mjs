// The cost of Express 5 itself: a route that sends the JSON of a finished job. `npm run bench api` starts it.
import { requireFrom } from '../repository.mjs';

/** @type {typeof import('express')} */
const express = requireFrom('server')('express');

const id = '01J9ZC3W8Q4V5N6M7P8R9S0T1A';
const app = express();
app.get('/bare/:id', (_request, response) => {
  response.json({
    task_id: id,
    type: 'image-to-3d',
    status: 'SUCCEEDED',
    progress: 100,
    model_urls: { glb: `http://127.0.0.1:8787/assets/${id}/model.glb` },
    thumbnail_url: `http://127.0.0.1:8787/assets/${id}/thumbnail.jpg`,
    error: null,
    created_at: '2026-01-02T03:04:05.000Z',
    finished_at: '2026-01-02T03:04:15.000Z',
  });
});
const listener = app.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (listener.address());
  console.log(`listening on http://127.0.0.1:${port}`);
});
