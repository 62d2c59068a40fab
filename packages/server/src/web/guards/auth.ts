import { forbiddenBody, publicTestKey } from '@gen3d/schema';
import type { Request, RequestHandler } from 'express';
import type { ApiKeys, KeyUse } from '../../data/accounts/api-keys.js';
import type { Db } from '../../data/db/database.js';
import { sendJson } from '../answers/responses.js';

export interface Caller {
  accountId: string;
  /** Whether the request has the public test key. */
  sandbox: boolean;
  /** Id of the API key that admitted the request. A long request must end when the key is revoked. */
  keyId?: string;
}

function keyOf({ headers }: Request): string | undefined {
  const bearer = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  const header = headers['x-api-key'];
  return bearer ?? (typeof header === 'string' ? header : undefined);
}

/** Refuses requests without a valid key: 403 with the gateway's body, whatever else is wrong with the request. */
export function authenticate({
  db,
  keys,
  keyUse,
  sandbox,
}: {
  db: Db;
  keys: ApiKeys;
  keyUse: KeyUse;
  sandbox: { accountId: string } | undefined;
}): RequestHandler {
  return async (request, response, next) => {
    const key = keyOf(request);
    if (key === publicTestKey && sandbox) {
      response.locals.caller = { accountId: sandbox.accountId, sandbox: true } satisfies Caller;
      return next();
    }
    const known = key === undefined ? undefined : await keys.find(db, key);
    if (!known) return void sendJson(response, 403, forbiddenBody);
    keyUse.record(known.id);
    response.locals.caller = { accountId: known.account_id, sandbox: false, keyId: known.id } satisfies Caller;
    next();
  };
}

/** Refuses the public test key on routes that would affect everyone who uses it. */
export const refuseSandbox: RequestHandler = (_request, response, next) => {
  const { sandbox } = response.locals.caller as Caller;
  if (sandbox) return void sendJson(response, 403, forbiddenBody);
  next();
};

export const callerOf = (response: { locals: Record<string, unknown> }): Caller => response.locals.caller as Caller;
