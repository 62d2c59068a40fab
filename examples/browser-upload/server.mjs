// GEN3D_API_KEY=… PORT=3000 node server.mjs
// The page speaks to this server, this server to gen3d: the key stays here, where visitors cannot read it.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { Gen3d, InvalidRequestError, NotFoundError } from '@gen3d/sdk';

const gen3d = connect();
const page = await readFile(new URL('index.html', import.meta.url));
const maxBytes = 4 * 1024 ** 2;

const server = createServer(async (request, response) => {
  // Strangers send anything: `//`, for one, is not a URL. Query strings are not used here.
  const [pathname] = request.url.split('?');
  const answer = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify(body));
  try {
    if (request.method === 'GET' && pathname === '/') {
      return response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
    }
    // An app for everybody would ask here who that is, and how many models they may make: each costs you inference.
    if (request.method === 'POST' && pathname === '/models') {
      const { job_id } = await gen3d.jobs.create({ image: await bodyOf(request) });
      return answer(202, { id: job_id });
    }
    const [, id] = /^\/models\/(\w+)$/.exec(pathname) ?? [];
    if (request.method === 'GET' && id) {
      const { status, progress, model_urls, thumbnail_url, error } = await gen3d.jobs.retrieve(id);
      return answer(200, {
        status,
        progress,
        model: model_urls?.glb,
        thumbnail: thumbnail_url,
        problem: error?.message,
      });
    }
    answer(404, { problem: 'There is nothing here' });
  } catch (error) {
    // The visitor disconnected during the upload, so there is no one to respond to.
    if (request.destroyed && !request.complete) return response.destroy();
    // Only what the photo is to blame for is the visitor's business.
    if (error instanceof InvalidRequestError) return answer(400, { problem: error.message });
    if (error instanceof NotFoundError) return answer(404, { problem: 'There is no such model' });
    console.error(error);
    answer(502, { problem: 'The models are not being made at the moment, please try again later' });
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
  // Leaving the loop would otherwise close the connection before the response.
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    size += part.length;
    if (size > maxBytes) throw new InvalidRequestError('invalid_request', 'The photo has more than 4 MiB');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

server.listen(process.env.PORT ?? 3000, () => console.log(`Listening on http://localhost:${server.address().port}`));
