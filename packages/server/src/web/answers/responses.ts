import type { ServerResponse } from 'node:http';
import { type ErrorCode, quoted } from '@gen3d/schema';
import type { RequestHandler, Router } from 'express';
import type { z } from 'zod';

/** Error codes of routes outside `/v1`, which the API does not have. */
type DashboardErrorCode =
  | 'cross_origin'
  | 'not_signed_in'
  | 'sign_in_failed'
  | 'operator_only'
  | 'not_cancelable'
  | 'not_deletable'
  | 'not_retryable';

/** A refused request. The error handler sends it in the contract's standard shape. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  constructor(
    readonly status: number,
    readonly code: ErrorCode | DashboardErrorCode,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** A request that is refused because of a limit that the contract has. Sent as 429 in the contract's shape. */
export class TooManyRequestsError extends Error {
  override readonly name = 'TooManyRequestsError';
  constructor(readonly retryAfterSeconds: number) {
    super('Too many requests');
  }
}

export const noSuch = (what: string): HttpError => new HttpError(404, 'not_found', `No such ${what}`);

/** Writes the path of a field as clients do, for example `input.image_urls[0]`. */
const fieldName = (path: readonly PropertyKey[]) =>
  path.reduce<string>(
    (name, key) => (typeof key === 'number' ? `${name}[${key}]` : name ? `${name}.${String(key)}` : String(key)),
    '',
  );

/**
 * Returns what `safeParse` has read.
 * @throws {HttpError} 400 that names the invalid fields, at most five; `whole` stands for the input itself
 */
export function validated<T>(parsed: z.core.util.SafeParseResult<T>, whole = 'body'): T {
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.flatMap((issue) => {
    const { path, message } = issue;
    if (issue.code !== 'unrecognized_keys') return `${fieldName(path) || whole}: ${plain(message)}`;
    return issue.keys.map((key) => `${fieldName([...path, quoted(key)])}: is unknown`);
  });
  throw new HttpError(400, 'invalid_request', problems.slice(0, 5).join('; '));
}

const typeNames: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
};

/** Says what to send, where zod says what it expected and received. Messages of our schemas stay as they are. */
const plain = (message: string): string =>
  message
    .replace(/^Invalid input: expected .*, received undefined$/, 'is missing')
    .replace(/^Invalid input: expected (\w+), received .*$/, (_, type: string) => `must be ${typeNames[type] ?? type}`)
    .replace(/^Invalid input: expected (".*")$/, 'must be $1')
    .replace(
      /^Invalid option: expected one of (.*)$/,
      (_, options: string) => `must be one of ${options.split('|').join(', ')}`,
    );

export const invalidCursor = (): HttpError =>
  new HttpError(400, 'invalid_cursor', 'cursor: not issued by this service; start again without it');

/** The methods of our routes, in the order of the header Allow. */
const methodOrder = ['get', 'post', 'put', 'delete'];

/** Responds 405 to methods that a path of this router does not have. Call it when the router has all its routes. */
export function refuseOtherMethods(router: Router): void {
  const routes = router.stack.flatMap(({ route }) => route ?? []);
  for (const route of routes) {
    const ofPath = routes.filter(({ path }) => path === route.path);
    // At the last route of the path instead of the end, because a later path may match as well: `/hide` and `/:id`.
    if (route !== ofPath.at(-1)) continue;
    const methods = ofPath.flatMap(({ stack }) => stack.map(({ method }) => method));
    const allow = methodOrder
      .filter((method) => methods.includes(method))
      .join(', ')
      .toUpperCase();
    route.all((request) => {
      throw new HttpError(405, 'invalid_request', `${request.method} is not allowed here; use ${allow}`, { allow });
    });
  }
}

export const routeNotFound: RequestHandler = () => {
  throw noSuch('route');
};

export const noStore: RequestHandler = (_request, response, next) => {
  response.setHeader('cache-control', 'no-store');
  next();
};

/** Sends JSON. Express' own `json` responds 304 to `If-None-Match: *`, and the contract has no 304. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.statusCode = status;
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', Buffer.byteLength(text));
  response.end(text);
}
