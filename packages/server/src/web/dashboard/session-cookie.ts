import type { Request, Response } from 'express';
import type { Config } from '../../config.js';
import { sessionMs } from '../../data/accounts/dashboard-tokens.js';

/** Contains the port, because browsers share cookies between all ports of a host, and so between its servers. */
const nameFor = ({ headers }: Request) => `gen3d_session_${/:(\d+)$/.exec(headers.host ?? '')?.[1] ?? 'default'}`;

/** The session token in a request's cookie. */
export function sessionTokenOf(request: Request): string | undefined {
  const prefix = `${nameFor(request)}=`;
  for (const pair of request.headers.cookie?.split(';') ?? []) {
    const cookie = pair.trim();
    if (cookie.startsWith(prefix)) return cookie.slice(prefix.length);
  }
  return undefined;
}

function options(request: Request, { publicUrl }: Config) {
  // A proxy may handle TLS. A client that forges the header only makes its own cookie stricter.
  const secure = publicUrl?.startsWith('https:') === true || request.headers['x-forwarded-proto'] === 'https';
  return { httpOnly: true, sameSite: 'strict', secure, path: '/dashboard' } as const;
}

export function setSessionCookie(request: Request, response: Response, config: Config, token: string): void {
  response.cookie(nameFor(request), token, { ...options(request, config), maxAge: sessionMs });
}

export function clearSessionCookie(request: Request, response: Response, config: Config): void {
  response.clearCookie(nameFor(request), options(request, config));
}
