// Stand-ins for servers that make models. Each answers as the server's own source says, at the given commit: which paths
// exist, what our requests need, and the words of each refusal. They make no models.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { HttpManifest } from '@gen3d/engine';

export interface Dialect {
  readonly name: string;
  /** What the stand-in follows. */
  readonly source: string;
  /** The path of photos. */
  readonly path: string;
  /** What a bundle for this server states. */
  readonly manifest: Partial<Pick<HttpManifest, 'body' | 'model' | 'options' | 'keyVariable'>>;
  /** The API key, if the server can require one. */
  readonly key?: string;
  /** Answers requests. `seen` gets what a complete request asks for. */
  readonly listener: (model: Buffer, seen: (fields: Record<string, unknown>) => void) => RequestListener;
}

const keyVariable = 'MODEL_SERVER_KEY';

const sendJson = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const sendGlb = (response: ServerResponse, model: Buffer) =>
  response.writeHead(200, { 'content-type': 'model/gltf-binary', 'content-length': model.length }).end(model);

const pathOf = (request: IncomingMessage) => new URL(request.url!, 'http://host').pathname;
const keyOf = (request: IncomingMessage) => request.headers.authorization?.replace('Bearer ', '');
const isPng = (bytes: Buffer) => bytes.subarray(0, 4).toString('latin1') === '\x89PNG';
const isOneOf = (value: unknown, ...allowed: unknown[]) => value === undefined || allowed.includes(value);

/** LocalAI refuses with the message of Go's error, which repeats the status. */
const localAiError = (response: ServerResponse, code: number, message: string) =>
  sendJson(response, code, { error: { code, message: `code=${code}, message=${message}`, type: '' } });

const localAi: Dialect = {
  name: 'LocalAI',
  source:
    'mudler/LocalAI 82c191afa: core/http/endpoints/localai/model3d.go:43-174 (request, response), core/schema/localai.go:75 (fields), core/http/routes/localai.go:232 (path), core/http/app.go:200 (errors), core/http/auth/middleware.go:559 (key)',
  path: '/3d/generations',
  manifest: { model: 'trellis2-4b', options: { quality: '512', params: { components: 'tiny' } }, keyVariable },
  key: 'local-key',
  listener: (model, seen) => {
    const files = new Map<string, Buffer>();
    return async (request, response) => {
      const path = pathOf(request);
      if (keyOf(request) !== 'local-key') {
        const error = { code: 401, message: 'An authentication key is required', type: 'invalid_request_error' };
        return sendJson(response, 401, { error });
      }
      const file = files.get(path);
      if (file && request.method === 'GET') return sendGlb(response, file);
      if (path !== '/3d/generations') return localAiError(response, 404, 'Not Found');
      const body = JSON.parse((await buffer(request)).toString());
      const { image, seed = 0, step = 0, quality, params = {} } = body;
      if (!image) return localAiError(response, 400, 'image is required: 3D generation is image-conditioned');
      if (!isOneOf(quality, '', 'auto', 'coarse', '512', '1024')) {
        const message = `invalid quality "${quality}": must be one of auto, coarse, 512, 1024`;
        return localAiError(response, 400, message);
      }
      // The fields are int32 and map[string]string.
      const isInt32 = (value: unknown) => Number.isInteger(value) && Math.abs(value as number) < 2 ** 31;
      const hasTexts = Object.values(params).every((value) => typeof value === 'string');
      if (!isInt32(seed) || !isInt32(step) || !hasTexts)
        return localAiError(response, 400, 'failed parsing request body');
      if (!isPng(Buffer.from(image, 'base64'))) return localAiError(response, 400, 'invalid image');
      seen(body);
      const name = `/generated-3d/b64${files.size}.glb`;
      files.set(name, model);
      const url = `http://${request.headers.host}${name}`;
      const created = Math.floor(Date.now() / 1_000);
      sendJson(response, 200, { created, id: randomUUID(), data: [{ index: 0, url }] });
    };
  },
};

const lemonadeError = (response: ServerResponse, message: string) =>
  sendJson(response, 400, { error: { message, type: 'invalid_request_error' } });

const lemonade: Dialect = {
  name: 'Lemonade',
  source:
    'lemonade-sdk/lemonade e385039ed: src/cpp/server/server.cpp:4810-4911 (request), :4707 (response), :1039 (key), :1875 (404), :1117 (405), :1277 (path)',
  path: '/v1/3d/generations',
  manifest: { model: 'TRELLIS-3D', options: { resolution: 512, bg_removal: 'birefnet' }, keyVariable },
  key: 'lemonade-key',
  listener: (model, seen) => async (request, response) => {
    const path = pathOf(request);
    if (keyOf(request) !== 'lemonade-key') return sendJson(response, 401, { error: 'Invalid or missing API key' });
    if (!/^(\/api)?\/v[01]\/3d\/generations$/.test(path)) {
      const error = { message: 'The requested endpoint does not exist', type: 'not_found', path };
      return sendJson(response, 404, { error });
    }
    const body = JSON.parse((await buffer(request)).toString());
    const { image, resolution, bg_removal, seed } = body;
    if (typeof body.model !== 'string')
      return lemonadeError(response, "Missing or non-string 'model' field in request");
    if (typeof image !== 'string') {
      return lemonadeError(response, "Missing or non-string 'image' field in request (base64-encoded input image)");
    }
    if (!/^[A-Za-z0-9+/=\r\n]+$/.test(image.replace(/^data:[^,]*,/, ''))) {
      return lemonadeError(response, "'image' must be base64 data or a base64 data: URL");
    }
    if (!isPng(Buffer.from(image.replace(/^data:[^,]*,/, '').slice(0, 16), 'base64'))) {
      return lemonadeError(response, "'image' is not a supported format (expected PNG, JPEG, BMP, or GIF)");
    }
    if (!isOneOf(resolution, 512, 1024, 1536, '512', '1024', '1536')) {
      return lemonadeError(response, "'resolution' must be 512, 1024, or 1536");
    }
    if (!isOneOf(bg_removal, 'threshold', 'birefnet')) {
      return lemonadeError(response, "'bg_removal' must be 'threshold' or 'birefnet'");
    }
    if (seed !== undefined && !Number.isInteger(seed)) return lemonadeError(response, "'seed' must be an integer");
    seen(body);
    sendGlb(response, model);
  },
};

const trellisCpp: Dialect = {
  name: 'trellis.cpp',
  source:
    'pwilkin/trellis.cpp 101007fb8: src/trellis-server.cpp:83-158; cpp-httplib answers unknown paths with an empty 404',
  path: '/generate',
  manifest: { body: 'form', options: { resolution: 1024, bg_removal: 'birefnet' } },
  listener: (model, seen) => async (request, response) => {
    if (pathOf(request) !== '/generate' || request.method !== 'POST') return response.writeHead(404).end();
    const type = request.headers['content-type'] ?? '';
    const form = await new Response(new Uint8Array(await buffer(request)), {
      headers: { 'content-type': type },
    }).formData();
    const image = form.get('image');
    if (!(image instanceof File)) return sendJson(response, 400, { error: "missing 'image' file part" });
    if (!isPng(Buffer.from(await image.arrayBuffer())))
      return sendJson(response, 500, { error: 'failed to load image' });
    seen(Object.fromEntries([...form].filter(([name]) => name !== 'image')));
    sendGlb(response, model);
  },
};

const trellis2Paths = ['/generate', '/v1/3d/generations', '/v1/images/generations'];
const trellis2: Dialect = {
  name: 'trellis2.c',
  source:
    'Radu0120/trellis2.c 18132cb2f (Wimacs/trellis2.c pull request 7): tools/trellis2_server.c, handle_client, handle_generate and parse_query',
  path: '/v1/3d/generations',
  manifest: { body: 'image', options: { pipeline: '512', texture_size: 1024 } },
  listener: (model, seen) => async (request, response) => {
    const fail = (status: number, error: string) => sendJson(response, status, { error });
    const { pathname, searchParams } = new URL(request.url!, 'http://host');
    if (request.headers['transfer-encoding'] === 'chunked') {
      return fail(501, 'Transfer-Encoding: chunked is not supported; send Content-Length');
    }
    if (!trellis2Paths.includes(pathname)) return fail(404, `unknown path '${pathname}'`);
    if (request.headers['content-length'] === undefined) return fail(411, 'Content-Length is required');
    const image = await buffer(request);
    const pipeline = searchParams.get('pipeline') ?? '512';
    if (!['512', '1024', '1024_cascade', '1536_cascade'].includes(pipeline)) {
      return fail(400, `unknown pipeline '${pipeline}' (expected 512, 1024, 1024_cascade or 1536_cascade)`);
    }
    if (image.length === 0) return fail(400, 'request body is empty; send the image bytes');
    if (!isPng(image)) return fail(500, 'generation failed after 0.1s: invalid argument');
    seen(Object.fromEntries(searchParams));
    sendGlb(response, model);
  },
};

const quartermaster: Dialect = {
  name: 'Quartermaster',
  source:
    'Quartermaster-Labs/Quartermaster: the wiki article "3D generation (TRELLIS.2)", section 4; its Go source was not read',
  path: '/v1/3d/generations',
  manifest: { body: 'image', model: 'trellis-2-4b', keyVariable },
  key: 'qm-key',
  listener: (model, seen) => (request, response) => {
    if (keyOf(request) !== 'qm-key') return sendJson(response, 401, { error: 'unauthorized' });
    return trellis2.listener(model, seen)(request, response);
  },
};

export const dialects: readonly Dialect[] = [localAi, lemonade, trellisCpp, trellis2, quartermaster];
