// GEN3D_API_KEY=… PORT=3000 node server.mjs
// The page calls this server, which calls gen3d. The API key stays on this server, hidden from visitors.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { Gen3d, InvalidRequestError, NotFoundError } from '@gen3d/sdk';

const gen3d = connect();
const page = await readFile(new URL('index.html', import.meta.url));
const maxBytes = 4 * 1024 ** 2;

const server = createServer(async (request, response) => {
  // Not `new URL`, which throws for request targets such as `//`.
  const [pathname] = request.url.split('?');
  const respond = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify(body));
  try {
    if (request.method === 'GET' && pathname === '/') {
      return response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
    }
    // A public app would authenticate users here and limit how many models each may create.
    if (request.method === 'POST' && pathname === '/models') {
      const { job_id } = await gen3d.jobs.create({ image: await bodyOf(request) });
      return respond(202, { id: job_id });
    }
    const [, id] = /^\/models\/(\w+)$/.exec(pathname) ?? [];
    if (request.method === 'GET' && id) {
      const { status, progress, model_urls, thumbnail_url, error } = await gen3d.jobs.retrieve(id);
      return respond(200, {
        status,
        progress,
        model: model_urls?.glb,
        thumbnail: thumbnail_url,
        problem: error?.message,
      });
    }
    respond(404, { problem: 'Not found' });
  } catch (error) {
    // The visitor disconnected during the upload.
    if (request.destroyed && !request.complete) return response.destroy();
    // Visitors see only errors about their photo.
    if (error instanceof InvalidRequestError) return respond(400, { problem: error.message });
    if (error instanceof NotFoundError) return respond(404, { problem: 'This model does not exist' });
    console.error(error);
    respond(502, { problem: 'The service is temporarily unavailable. Please try again later' });
  }
});

function connect() {
  try {
    return new Gen3d();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

async function bodyOf(request) {
  const parts = [];
  let size = 0;
  // By default, leaving the loop would close the connection before the response.
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    size += part.length;
    if (size > maxBytes) throw new InvalidRequestError('invalid_request', 'The photo is larger than 4 MiB');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

server.listen(process.env.PORT ?? 3000, () => console.log(`Listening on http://localhost:${server.address().port}`));
