import type { Request, Response } from 'express';
import type { Config } from '../../config.js';
import { sessionMs } from '../../data/accounts/dashboard-tokens.js';
import { HttpError } from '../http/responses.js';

/**
 * Whether the browser uses TLS, perhaps to a proxy. A client that forges the header only makes its own cookie stricter.
 */
const isHttps = ({ headers }: Request, { publicUrl }: Config) =>
  publicUrl?.startsWith('https:') === true || headers['x-forwarded-proto'] === 'https';

/**
 * Contains the port, because browsers share cookies between all ports of a host, and so between its servers. With https,
 * the prefix makes browsers refuse a cookie of this name from other hosts of the domain, and for a path.
 */
const nameFor = (request: Request, config: Config) =>
  `${isHttps(request, config) ? '__Host-' : ''}gen3d_session_${/:(\d+)$/.exec(request.headers.host ?? '')?.[1] ?? 'default'}`;

/** Returns the session token in a request's cookie. @throws {HttpError} if several cookies have its name */
export function sessionTokenOf(request: Request, config: Config): string | undefined {
  const prefix = `${nameFor(request, config)}=`;
  const cookies = request.headers.cookie?.split(';').map((pair) => pair.trim()) ?? [];
  const [cookie, another] = cookies.filter((pair) => pair.startsWith(prefix));
  if (another === undefined) return cookie?.slice(prefix.length);
  // One of them may sign the user in to a session of somebody else.
  const message = 'Your browser has two session cookies, of which another program on this host may have set one';
  throw new HttpError(400, 'invalid_request', `${message}. Delete the cookies of this site, then sign in again`);
}

function options(request: Request, config: Config) {
  const secure = isHttps(request, config);
  return { httpOnly: true, sameSite: 'strict', secure, path: secure ? '/' : '/dashboard' } as const;
}

export function setSessionCookie(request: Request, response: Response, config: Config, token: string): void {
  response.cookie(nameFor(request, config), token, { ...options(request, config), maxAge: sessionMs });
}

export function clearSessionCookie(request: Request, response: Response, config: Config): void {
  response.clearCookie(nameFor(request, config), options(request, config));
}
