import { publicTestKey } from '@gen3d/schema';
import type { Session } from '@gen3d/schema/dashboard';
import { type Request, type RequestHandler, Router } from 'express';
import { z } from 'zod';
import type { Config } from '../../config.js';
import { findAccount, listAccounts } from '../../data/accounts/accounts.js';
import { type DashboardTokens, type Identity, sessionMs } from '../../data/accounts/dashboard-tokens.js';
import { HttpError, noSuch, sendJson, validated } from '../answers/responses.js';
import type { Caller } from '../guards/auth.js';
import { clientOf } from '../guards/client-address.js';
import { smallJsonBody } from '../guards/json-body.js';
import type { RequestLimit } from '../guards/rate-limit.js';
import { holdByAddress } from '../guards/shares.js';
import type { Services } from '../routes/services.js';

const SignIn = z.union([z.object({ link: z.string().max(256) }), z.object({ api_key: z.string().max(256) })], {
  error: 'must contain link or api_key',
});

export const identityOf = (response: { locals: Record<string, unknown> }): Identity =>
  response.locals.identity as Identity;

/** Names the account for which the operator acts. A member has only one account. */
const accountHeader = 'x-gen3d-account';

/** An operator's session lists at most this many accounts. A search finds the others. */
const maxAccounts = 100;

/** Serves `/dashboard/api/session`: reads the session, signs in and out. `limit` applies to signing in with a key. */
export function sessionRoutes(
  {
    config,
    db,
    keys,
    keyUse,
    dashboardTokens: tokens,
    rates,
    shares,
  }: Pick<Services, 'config' | 'db' | 'keys' | 'keyUse' | 'dashboardTokens' | 'rates' | 'shares'>,
  limit: RequestLimit,
): Router {
  const router = Router();

  const signInFailed = (message: string) => new HttpError(403, 'sign_in_failed', message);

  const accountsFor = async (chosen: unknown) => {
    const first = await listAccounts(db, maxAccounts);
    if (typeof chosen !== 'string' || first.some(({ id }) => id === chosen)) return first;
    return [...first, await findAccount(db, chosen)];
  };

  const describeSession = async (identity: Identity | undefined, chosen?: unknown): Promise<Session> => {
    if (!identity) return { role: null };
    const found =
      identity.role === 'operator' ? await accountsFor(chosen) : [await findAccount(db, identity.accountId)];
    const accounts = found
      .filter((account) => account !== undefined)
      .map(({ id, name, sandbox }) => ({ account_id: id, name, sandbox: sandbox === 1 }));
    const charges = Object.values(rates()).some((rate) => rate > 0);
    if (identity.role === 'operator') return { role: 'operator', key_id: null, charges, accounts };
    return { role: 'member', key_id: identity.keyId, charges, accounts };
  };

  router.get('/', async (request, response) => {
    const identity = await identify(request, config, tokens);
    sendJson(response, 200, await describeSession(identity, request.query.account));
  });

  router.post('/', holdByAddress(shares.signIns), smallJsonBody, async (request, response) => {
    const body = validated(SignIn.safeParse(request.body));
    let keyId: string | null = null;
    if ('link' in body) {
      if (!(await tokens.redeemLink(body.link))) {
        throw signInFailed('This link has been used or is over an hour old. Print a new one: gen3d admin sign-in-link');
      }
    } else {
      const apiKey = body.api_key.trim();
      if (apiKey === publicTestKey) {
        throw signInFailed('Everyone can use the public test key. Sign in with a key of your account');
      }
      keyId = (await keys.find(db, apiKey))?.id ?? null;
      if (keyId === null) throw signInFailed('This API key is unknown or was revoked');
      // Each session is a row.
      await limit(clientOf(request));
      keyUse.record(keyId);
    }
    const token = await tokens.issueSession(keyId);
    const identity = await tokens.identify(token);
    if (!identity) throw signInFailed('This session has ended already. Its API key may have been revoked');
    response.cookie(nameFor(request, config), token, { ...options(request, config), maxAge: sessionMs });
    sendJson(response, 200, await describeSession(identity));
  });

  router.delete('/', async (request, response) => {
    const token = sessionTokenOf(request, config);
    if (token !== undefined) await tokens.endSession(token);
    response.clearCookie(nameFor(request, config), options(request, config));
    response.status(204).end();
  });
  return router;
}

/** Refuses requests without a valid session. */
export function requireSession({
  config,
  dashboardTokens: tokens,
}: Pick<Services, 'config' | 'dashboardTokens'>): RequestHandler {
  return async (request, response, next) => {
    const identity = await identify(request, config, tokens);
    if (!identity) throw new HttpError(401, 'not_signed_in', 'You are not signed in, or your session has ended');
    response.locals.identity = identity;
    next();
  };
}

export const requireOperator: RequestHandler = (_request, response, next) => {
  if (identityOf(response).role === 'operator') return next();
  throw new HttpError(403, 'operator_only', 'Only the operator of this server may do this');
};

/** Makes the session's account the caller, as an API key does for `/v1`. For a member, no other accounts exist. */
export function actForAccount({ db }: Pick<Services, 'db'>): RequestHandler {
  return async (request, response, next) => {
    const identity = identityOf(response);
    const named = request.get(accountHeader);
    const id = named ?? (identity.role === 'member' ? identity.accountId : undefined);
    if (id === undefined) throw new HttpError(400, 'invalid_request', `The header ${accountHeader} is missing`);
    const account = identity.role === 'operator' || id === identity.accountId ? await findAccount(db, id) : undefined;
    if (!account) throw noSuch('account');
    response.locals.caller = { accountId: account.id, sandbox: account.sandbox === 1 } satisfies Caller;
    next();
  };
}

/**
 * Whether the browser uses TLS, perhaps to a proxy. A client that forges the header only makes its own cookie stricter.
 */
const isHttps = ({ headers }: Request, { publicUrl }: Config) =>
  publicUrl?.startsWith('https:') === true || headers['x-forwarded-proto'] === 'https';

/**
 * Contains the port, because browsers share cookies between all ports of a host, and so between its servers. With
 * https, the prefix makes browsers refuse a cookie of this name from other hosts of the domain, and for a path.
 */
const nameFor = (request: Request, config: Config) =>
  `${isHttps(request, config) ? '__Host-' : ''}gen3d_session_${/:(\d+)$/.exec(request.headers.host ?? '')?.[1] ?? 'default'}`;

/** Returns the session token in a request's cookie. @throws {HttpError} if several cookies have its name */
export function sessionTokenOf(request: Request, config: Config): string | undefined {
  const prefix = `${nameFor(request, config)}=`;
  const cookies = request.headers.cookie?.split(';').map((pair) => pair.trim()) ?? [];
  const [cookie, another] = cookies.filter((pair) => pair.startsWith(prefix));
  if (another === undefined) return cookie?.slice(prefix.length);
  // One of them may belong to another person's session.
  const message = 'Your browser has two session cookies, of which another program on this host may have set one';
  throw new HttpError(400, 'invalid_request', `${message}. Delete the cookies of this site, then sign in again`);
}

async function identify(request: Request, config: Config, tokens: DashboardTokens): Promise<Identity | undefined> {
  const token = sessionTokenOf(request, config);
  return token === undefined ? undefined : tokens.identify(token);
}

function options(request: Request, config: Config) {
  const secure = isHttps(request, config);
  return { httpOnly: true, sameSite: 'strict', secure, path: secure ? '/' : '/dashboard' } as const;
}
