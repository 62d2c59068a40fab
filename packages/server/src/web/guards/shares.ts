import { performance } from 'node:perf_hooks';
import type { RequestHandler, Response } from 'express';
import { nextTurn } from '../../base/next-turn.js';
import { type Share, Shares, type Work } from '../../base/shares.js';
import type { Config } from '../../config.js';
import { quotas } from '../../data/accounts/quotas.js';
import { HttpError, TooManyRequestsError } from '../answers/responses.js';
import { callerOf } from './auth.js';
import { clientOf } from './client-address.js';
import type { RequestLimit } from './rate-limit.js';

const mib = 1024 * 1024;
const retryAfterSeconds = 1;

/** A holder may have this many requests in progress, or all of a permitted burst. */
const minRequests = 64;

/** Creates what the callers of one server share, beside the rate. Holders are accounts, or for strangers addresses. */
export function createShares({ rateLimit }: Pick<Config, 'rateLimit'>) {
  const perHolder = rateLimit === 'off' ? minRequests : Math.max(minRequests, rateLimit.burst);
  return {
    /** Requests in progress of accounts, also while they wait for another share, for the database or for the client. */
    requests: new Shares({ total: 1_024, perHolder, giveWayAfterMs: 10_000 }),
    /** Requests in progress without a key of an account: pages, models, and those with the public test key. */
    strangers: new Shares({ total: 1_024, perHolder, giveWayAfterMs: 1_000 }),
    /** Attempts to sign in. Their bodies are small, and an address needs few of them at once. */
    signIns: new Shares({ total: 128, perHolder: 8, giveWayAfterMs: 1_000 }),
    /** Open event streams. */
    streams: new Shares({ total: 1_024, perHolder: quotas.streams, giveWayAfterMs: 10_000 }),
    /** Requests that wait for the end of their job (`--compat`). */
    waiting: new Shares({ total: 64 }),
    /**
     * Bytes of request bodies. A body also exists as text and as a decoded image for a moment, so the process may need
     * up to three times as much.
     */
    bodies: new Shares({ total: 96 * mib, giveWayAfterMs: 10_000 }),
    testKeyBodies: new Shares({ total: 8 * mib, giveWayAfterMs: 10_000 }),
    /** Lists, which may read thousands of rows. Most database connections stay free. */
    lists: new Shares({ total: 2, perHolder: 1 }),
    /** Changes that lock an account's rows or wait for the disk. An account's own would wait for each other anyway. */
    changes: new Shares({ total: 4, perHolder: 1 }),
    /** Stored photos and models that are being sent, each with a buffer and on S3 one of the SDK's 50 connections. */
    files: new Shares({ total: 32, giveWayAfterMs: 10_000 }),
    /** Stored photos that are read, encoded and sent. Each is up to 17 MB of pixels. */
    photos: new Shares({ total: 4, giveWayAfterMs: 10_000 }),
  };
}

export type ServerShares = ReturnType<typeof createShares>;

/** Work that ends with the response, and makes progress as bytes arrive on either side. */
function workOf(response: Response): Work {
  const { socket } = response.req;
  return {
    giveWay: () => response.destroy(),
    progress: () => socket.bytesRead + socket.bytesWritten - socket.writableLength,
  };
}

const restFactor = 3;

const disconnected = () => new HttpError(400, 'invalid_request', 'the connection closed');

/** Takes a share until the response is closed. Throws what `refusal` returns if the holder may not take it. */
export function hold(
  shares: Shares,
  holder: string,
  response: Response,
  refusal: () => Error = () => new TooManyRequestsError(retryAfterSeconds),
): Share {
  // No event would follow.
  if (response.closed) throw disconnected();
  const share = shares.take(holder, 1, workOf(response));
  if (!share) throw refusal();
  response.once('close', () => share.end());
  return share;
}

/** Counts requests in progress by the client's address. */
export const holdByAddress =
  (shares: Shares): RequestHandler =>
  (request, response, next) => {
    hold(shares, clientOf(request), response);
    next();
  };

/** The share under which a request with a key or a session was admitted. */
export interface Admission {
  /** Names who holds the request's shares: its account, the operator, or the address of a client with the test key. */
  holder: string;
  /** The request's share of those in progress. */
  share: Share;
}

/** Takes a token and a share for a request. */
export async function admit(shares: Shares, holder: string, limit: RequestLimit, response: Response): Promise<void> {
  await limit(holder);
  response.locals.admission = { holder, share: hold(shares, holder, response) } satisfies Admission;
}

export const admissionOf = ({ locals }: Pick<Response, 'locals'>): Admission => locals.admission;

/**
 * Does the expensive part of a request when it is the account's turn. A waiting request costs no more than its
 * connection, so waiting is better than a refusal: the dashboard sends several requests at once.
 *
 * @param rests keeps the share for three times as long as the event loop was busy during the work, so two lists at a
 *   time take at most half of it. Lists block it on SQLite, and Node accepts one connection per turn, so lists without
 *   a rest could keep new clients waiting for tens of seconds.
 */
export async function inTurn<T>(
  shares: Shares,
  accountId: string,
  response: Response,
  work: () => Promise<T>,
  { rests = false } = {},
): Promise<T> {
  const closed = new AbortController();
  const abort = () => closed.abort(disconnected());
  if (response.closed) abort();
  response.once('close', abort);
  const share = await shares.wait(accountId, closed.signal, workOf(response));
  const before = performance.eventLoopUtilization();
  try {
    return await work();
  } finally {
    response.off('close', abort);
    if (rests) setTimeout(() => share.end(), restFactor * performance.eventLoopUtilization(before).active);
    else void nextTurn().then(() => share.end());
  }
}

/** Runs a change of the caller's account when it is the account's turn. */
export function changeInTurn<T>(
  { changes }: Pick<ServerShares, 'changes'>,
  response: Response,
  change: (accountId: string) => Promise<T>,
): Promise<T> {
  const { accountId } = callerOf(response);
  return inTurn(changes, accountId, response, () => change(accountId));
}

/** Runs a list of the caller's account when it is the account's turn. */
export function listInTurn<T>(
  { lists }: Pick<ServerShares, 'lists'>,
  response: Response,
  list: (accountId: string) => Promise<T>,
): Promise<T> {
  const { accountId } = callerOf(response);
  return inTurn(lists, accountId, response, () => list(accountId), { rests: true });
}
