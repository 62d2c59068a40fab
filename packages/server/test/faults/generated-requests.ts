// Arbitraries of fast-check for the requests of hostile, broken or unusual clients.
import { METHODS } from 'node:http';
import { deflateSync, gzipSync } from 'node:zlib';
import { jobStatuses } from '@gen3d/schema';
import fc from 'fast-check';
import { asDataUri, transparentPhoto } from '../ball-photo.js';

/** Placeholders in generated paths for values of the running server. */
export const known = { job: '{JOB}', cursor: '{CURSOR}' } as const;

/** Which key a request sends. */
export const callers = ['rich', 'poor', 'test', 'wrong', 'none'] as const;

export interface GeneratedRequest {
  method: string;
  path: string;
  caller: (typeof callers)[number];
  headers: Record<string, string>;
  body: Buffer | undefined;
}

const weighted = <T>(...choices: [weight: number, arbitrary: fc.Arbitrary<T>][]) =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/** Any code points except lone surrogates, which UTF-8 cannot represent. */
const anyText = fc.string({ unit: 'binary', maxLength: 40 });
const pathText = weighted<string>(
  [4, anyText.map(encodeURIComponent)],
  [
    1,
    fc.constantFrom('%', '%ff', '%00', '%2e%2e%2f', '..', '.', '%c0%af', 'a'.repeat(4_000), '__proto__', 'constructor'),
  ],
);

const id = weighted<string>(
  [3, fc.constant(known.job)],
  [3, fc.ulid()],
  [1, fc.ulid().map((text) => text.toLowerCase())],
  [3, pathText],
);

/** The existing routes with their methods. */
const route = weighted<readonly [method: string, path: string]>(
  [6, fc.constant(['POST', '/v1/jobs'] as const)],
  [4, fc.constant(['GET', '/v1/jobs'] as const)],
  [5, id.map((text) => ['GET', `/v1/jobs/${text}`] as const)],
  [1, fc.constant(['GET', '/v1/balance'] as const)],
  [5, fc.constantFrom('GET', 'PUT', 'PUT', 'PUT', 'DELETE').map((verb) => [verb, '/v1/webhook-endpoint'] as const)],
  [2, fc.constantFrom('rotate', 'test').map((name) => ['POST', `/v1/webhook-endpoint/${name}`] as const)],
);

const oddPath = fc.oneof(
  fc.array(pathText, { maxLength: 4 }).map((parts) => ['/v1', ...parts].join('/')),
  fc.array(pathText, { minLength: 1, maxLength: 3 }).map((parts) => ['/assets', ...parts].join('/')),
  fc.constantFrom(
    '/V1/JOBS',
    '/v1/jobs/',
    '//v1/jobs',
    '/v1//jobs',
    '/v1/jobs/../balance',
    '/v2/jobs',
    '/v1',
    '/v1/jobs;a=b',
  ),
);

const queryValue = (...real: fc.Arbitrary<string>[]) =>
  fc.oneof(...real, pathText, fc.integer().map(String), fc.double().map(String), fc.constant(''));
const named = (name: string, value: fc.Arbitrary<string>) => value.map((text) => `${name}=${text}`);
const parameter = fc.oneof(
  named('limit', queryValue(fc.integer({ min: -1, max: 102 }).map(String))),
  named('status', queryValue(fc.constantFrom(...jobStatuses))),
  named('cursor', queryValue(fc.constant(known.cursor), fc.base64String().map(encodeURIComponent))),
  named('cursor', fc.constant(`${known.cursor}A`)),
  fc.constantFrom(
    'limit[]=1',
    'limit[a]=1',
    'cursor[$ne]=',
    '__proto__=1',
    'status',
    '&&',
    '=',
    'a=%',
    'limit=1e1',
    'limit=+5',
  ),
  fc.tuple(pathText, pathText).map(([name, value]) => `${name}=${value}`),
);
const query = weighted<string>(
  [2, fc.constant('')],
  [3, fc.array(parameter, { maxLength: 4 }).map((parts) => `?${parts.join('&')}`)],
);

const photo = asDataUri(transparentPhoto(8));
const imageUrl = fc.oneof(
  { weight: 4, arbitrary: fc.constant(photo) },
  fc.constant(photo.slice(0, -3)),
  fc.constantFrom(
    'http://photos.invalid/a.jpg',
    'https://photos.invalid/a.jpg',
    'file:///etc/passwd',
    'ftp://a/b',
    'data:,',
    'data:image/svg+xml;base64,AAAA',
    'http://',
    'javascript:0',
    'https://[::1',
    'HTTPS://photos.invalid',
  ),
  anyText,
  fc.webUrl(),
);
const idempotencyKey = fc.oneof(
  fc.string({ maxLength: 4 }),
  anyText,
  fc.constantFrom('', 'k'.repeat(256), 'k'.repeat(257), '\u0000', '\ud800', '💡'.repeat(128)),
);
/** Usually a value of the right type, sometimes any other value or none. */
const field = (value: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 6, arbitrary: value }, fc.jsonValue({ maxDepth: 2 }));
const job = fc.record(
  {
    type: field(fc.constant('image-to-3d')),
    input: field(fc.record({ image_urls: field(fc.array(field(imageUrl), { minLength: 1, maxLength: 2 })) })),
    options: fc.jsonValue({ maxDepth: 3 }),
    idempotency_key: field(idempotencyKey),
    unknown: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: [] },
);
const goodJob = fc.record({
  type: fc.constantFrom('image-to-3d', 'image-to-3d', 'other'),
  input: fc.record({ image_urls: imageUrl.map((url) => [url]) }),
});
// Names that never resolve, because the server calls each accepted endpoint.
const hook = fc.record(
  {
    url: field(
      fc.oneof(
        fc.webPath().map((rest) => `https://hooks.invalid${rest}`),
        fc.constantFrom(
          'http://hooks.invalid',
          'https://127.0.0.1/',
          'https://[::ffff:10.0.0.1]/',
          'https://user:pw@hooks.invalid:1/',
          'https://',
          `https://hooks.invalid/${'a'.repeat(2_100)}`,
        ),
        anyText,
      ),
    ),
  },
  { requiredKeys: [] },
);

const json = weighted<string>(
  [5, job.map((value) => JSON.stringify(value))],
  [5, goodJob.map((value) => JSON.stringify(value))],
  [3, hook.map((value) => JSON.stringify(value))],
  [2, fc.json({ maxDepth: 4 })],
);
const body: fc.Arbitrary<Buffer> = weighted<Buffer>(
  [12, json.map((text) => Buffer.from(text))],
  // Truncated, or with one additional character.
  [
    2,
    fc
      .tuple(json, fc.nat(), anyText)
      .map(([text, at, rest]) => Buffer.from(text.slice(0, at % (text.length + 1)) + rest)),
  ],
  [1, fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes))],
  [1, json.map((text) => Buffer.from(text, 'utf16le'))],
  [1, json.map((text) => Buffer.from(`\ufeff${text}`))],
  [
    1,
    fc
      .tuple(fc.constantFrom('[', '{"a":', '{"type":"x","input":{"a":'), fc.integer({ min: 1, max: 20_000 }))
      .map(([text, times]) => Buffer.from(text.repeat(times))),
  ],
  [
    1,
    fc
      .integer({ min: 1, max: 20_000 })
      .map((depth) => Buffer.from(`{"type":"x","input":{},"options":${'['.repeat(depth)}${']'.repeat(depth)}}`)),
  ],
  [
    1,
    fc
      .constantFrom(
        '1e999',
        '-0',
        '"\\ud800"',
        '{"__proto__":{"type":"x"}}',
        'NaN',
        '',
        ' ',
        'null',
        '[]',
        '{"type":1e400}',
      )
      .map((text) => Buffer.from(text)),
  ],
);

const compressors: Record<string, (bytes: Buffer) => Buffer> = { gzip: gzipSync, deflate: deflateSync };

type Encoded = Pick<GeneratedRequest, 'headers' | 'body'>;
const contentType = weighted<string>(
  [6, fc.constant('application/json')],
  [
    2,
    fc.constantFrom(
      'application/json; charset=utf-8',
      'application/json; charset=utf-16',
      'application/json; charset=latin1',
      'application/json;charset="',
      'text/plain',
      'text/html',
      'multipart/form-data; boundary=a',
      'application/x-www-form-urlencoded',
      'x',
      '/',
      ';',
      'application/vnd.api+json',
    ),
  ],
  [1, fc.string({ maxLength: 30 }).map((text) => text.replace(/[^\x20-\x7e]/g, '-').trim())],
);
const encoded: fc.Arbitrary<Encoded> = fc
  .tuple(
    body,
    contentType,
    weighted(
      [8, fc.constant('')],
      [2, fc.constantFrom('gzip', 'deflate', 'br', 'identity', 'GZIP', 'zstd', 'gzip, gzip', 'x')],
    ),
    fc.boolean(),
  )
  .map(([bytes, type, encoding, honest]) => {
    const compress = honest ? compressors[encoding] : undefined;
    const headers = {
      ...(type ? { 'content-type': type } : {}),
      ...(encoding ? { 'content-encoding': encoding } : {}),
    };
    return { headers, body: compress ? compress(bytes) : bytes };
  });
const nothing: Encoded = { headers: {}, body: undefined };

const oddHeaders = fc
  .array(
    fc.oneof(
      fc.constantFrom<[string, string]>(
        ['if-none-match', '*'],
        ['if-none-match', '"a"'],
        ['if-modified-since', 'Thu, 01 Jan 2099 00:00:00 GMT'],
        ['range', 'bytes=0-0'],
        ['accept', 'text/html'],
        ['accept-encoding', 'br;q=1, *;q=0'],
        ['x-http-method-override', 'DELETE'],
        ['x-forwarded-host', 'evil.invalid'],
        ['x-forwarded-for', '127.0.0.1'],
        ['origin', 'https://evil.invalid'],
        ['cookie', 'a=b; c'],
        ['x-request-id', '../../etc'],
        ['cache-control', 'only-if-cached'],
      ),
      fc.tuple(
        fc.stringMatching(/^x-[a-z]{1,10}$/),
        fc.string({ maxLength: 60 }).map((text) => text.replace(/[^\x20-\x7e]/g, '-')),
      ),
    ),
    { maxLength: 3 },
  )
  .map((pairs) => Object.fromEntries(pairs));

const oddMethod = fc.constantFrom(...METHODS.filter((name) => name !== 'CONNECT'));

const target = weighted<readonly [method: string, path: string]>(
  [8, route],
  [1, fc.tuple(oddMethod, route).map(([verb, [, path]]) => [verb, path] as const)],
  [1, fc.tuple(fc.oneof(fc.constantFrom('GET', 'POST'), oddMethod), oddPath)],
);

/** A request without its key, which the caller adds. */
export const generatedRequest: fc.Arbitrary<GeneratedRequest> = fc
  .record({
    target,
    query,
    caller: weighted<(typeof callers)[number]>([8, fc.constant('rich')], [2, fc.constantFrom(...callers)]),
    odd: oddHeaders,
    content: encoded,
    bodiless: fc.boolean(),
  })
  .map(({ target: [method, path], query, caller, odd, content, bodiless }) => {
    // GET may have a body, but rarely does.
    const { headers, body } = method === 'GET' && bodiless ? nothing : content;
    return { method, path: path + query, caller, headers: { ...odd, ...headers }, body };
  });
