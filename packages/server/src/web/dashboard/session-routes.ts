import { publicTestKey } from '@gen3d/schema';
import { type RequestHandler, Router } from 'express';
import { z } from 'zod';
import { findAccount } from '../../data/accounts/accounts.js';
import type { Identity } from '../../data/accounts/dashboard-tokens.js';
import { OperatorPassword } from '../../data/accounts/operator-password.js';
import type { Caller } from '../http/auth.js';
import { clientOf } from '../http/client-address.js';
import { HttpError, invalidRequest } from '../http/errors.js';
import { smallJsonBody } from '../http/json-body.js';
import { onlyMethods } from '../http/only-methods.js';
import type { RequestLimit } from '../http/rate-limit.js';
import { sendJson } from '../http/send-json.js';
import type { Services } from '../http/services.js';
import { PasswordAttempts } from './password-attempts.js';
import { refuse } from './refusal.js';
import { clearSessionCookie, sessionTokenOf, setSessionCookie } from './session-cookie.js';

const SignIn = z.union(
  [
    z.object({ link: z.string().max(256) }),
    z.object({ api_key: z.string().max(256) }),
    z.object({ password: z.string().max(256) }),
  ],
  { error: 'must hold link, api_key or password' },
);

export const identityOf = (response: { locals: Record<string, unknown> }): Identity =>
  response.locals.identity as Identity;

/** Names the account that an operator looks at; a member has only one. */
export const accountHeader = 'x-gen3d-account';

/** `/dashboard/api/session`: who is signed in, signing in and out. Each session is a row, so `limit` applies to signing in with a key. */
export function sessionRoutes(
  { config, db, keys, keyUse, dashboardTokens: tokens }: Services,
  limit: RequestLimit,
): Router {
  const router = Router();
  const operatorPassword = new OperatorPassword(db);
  const attempts = new PasswordAttempts(performance.now());

  const describe = async (identity: Identity) => {
    let query = db.selectFrom('accounts').select(['id', 'name', 'sandbox']).orderBy('sandbox').orderBy('id');
    if (identity.role === 'member') query = query.where('id', '=', identity.accountId);
    const accounts = await query.execute();
    return {
      role: identity.role,
      key_id: identity.role === 'member' ? identity.keyId : null,
      operator_password: await operatorPassword.isSet(),
      accounts: accounts.map(({ id, name, sandbox }) => ({ account_id: id, name, sandbox: sandbox === 1 })),
    };
  };

  router
    .route('/')
    .get(async (request, response) => {
      const token = sessionTokenOf(request);
      const identity = token === undefined ? undefined : await tokens.identify(token);
      const nobody = async () => ({ role: null, operator_password: await operatorPassword.isSet() });
      sendJson(response, 200, identity ? await describe(identity) : await nobody());
    })
    .post(smallJsonBody, async (request, response) => {
      const parsed = SignIn.safeParse(request.body);
      if (!parsed.success) throw invalidRequest(parsed.error);
      let keyId: string | null = null;
      if ('link' in parsed.data) {
        if (!(await tokens.redeemLink(parsed.data.link))) {
          const message =
            'This link was used already, or is older than an hour. Print a new one: gen3d admin sign-in-link';
          return refuse(response, 403, 'sign_in_failed', message);
        }
      } else if ('password' in parsed.data) {
        const client = clientOf(request);
        const waitSeconds = Math.ceil(attempts.take(client, performance.now()));
        if (waitSeconds > 0) {
          response.set('retry-after', String(waitSeconds));
          const message = `Too many tries: wait ${waitSeconds} s, or sign in with a link: gen3d admin sign-in-link`;
          return refuse(response, 429, 'too_many_tries', message);
        }
        if (!(await operatorPassword.matches(parsed.data.password))) {
          return refuse(response, 403, 'sign_in_failed', 'This is not the operator’s password');
        }
        attempts.noteSuccess(client);
      } else {
        const apiKey = parsed.data.api_key.trim();
        if (apiKey === publicTestKey) {
          return refuse(response, 403, 'sign_in_failed', 'The public test key is everybody’s: use a key of your own');
        }
        keyId = (await keys.find(db, apiKey))?.id ?? null;
        if (keyId === null) {
          return refuse(response, 403, 'sign_in_failed', 'This API key is unknown or was revoked');
        }
        if (!(await limit(response))) return;
        keyUse.note(keyId);
      }
      const token = await tokens.issueSession(keyId);
      setSessionCookie(request, response, config, token);
      const identity = await tokens.identify(token);
      if (!identity) throw new Error('a session that was just made is not there');
      sendJson(response, 200, await describe(identity));
    })
    .delete(async (request, response) => {
      const token = sessionTokenOf(request);
      if (token !== undefined) await tokens.endSession(token);
      clearSessionCookie(request, response, config);
      response.status(204).end();
    })
    .all(onlyMethods('GET', 'POST', 'DELETE'));
  return router;
}

/** Lets nobody past who is not signed in. */
export function requireSession({ dashboardTokens: tokens }: Services): RequestHandler {
  return async (request, response, next) => {
    const token = sessionTokenOf(request);
    const identity = token === undefined ? undefined : await tokens.identify(token);
    if (!identity) return refuse(response, 401, 'not_signed_in', 'You are not signed in, or not any more');
    response.locals.identity = identity;
    next();
  };
}

export const requireOperator: RequestHandler = (_request, response, next) => {
  if (identityOf(response).role === 'operator') return next();
  refuse(response, 403, 'operator_only', 'Only the operator of this server may do this');
};

/**
 * Makes the account in question the caller, as a valid API key does for `/v1`. For a member any other account is one that
 * does not exist.
 */
export function actForAccount({ db }: Services): RequestHandler {
  return async (request, response, next) => {
    const identity = identityOf(response);
    const named = request.get(accountHeader);
    const id = named ?? (identity.role === 'member' ? identity.accountId : undefined);
    if (id === undefined) throw new HttpError(400, 'invalid_request', `The header ${accountHeader} is missing`);
    const account = identity.role === 'operator' || id === identity.accountId ? await findAccount(db, id) : undefined;
    if (!account) throw new HttpError(404, 'not_found', 'No such account');
    response.locals.caller = { accountId: account.id, sandbox: account.sandbox === 1 } satisfies Caller;
    next();
  };
}
