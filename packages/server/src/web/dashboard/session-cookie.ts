import type { Request, Response } from 'express';
import type { Config } from '../../config.js';
import { sessionMs } from '../../data/accounts/dashboard-tokens.js';

/** The name says the port: cookies know only hosts, and two servers of one machine would sign each other's people out. */
const nameFor = ({ headers }: Request) => `gen3d_session_${/:(\d+)$/.exec(headers.host ?? '')?.[1] ?? 'default'}`;

/** The session's token that the browser brought. */
export function sessionTokenOf(request: Request): string | undefined {
  const wanted = `${nameFor(request)}=`;
  for (const pair of request.headers.cookie?.split(';') ?? []) {
    const cookie = pair.trim();
    if (cookie.startsWith(wanted)) return cookie.slice(wanted.length);
  }
  return undefined;
}

function options(request: Request, { publicUrl }: Config) {
  // A proxy speaks TLS for this server. Whoever claims it falsely makes only their own cookie stricter.
  const secure = publicUrl?.startsWith('https:') === true || request.headers['x-forwarded-proto'] === 'https';
  return { httpOnly: true, sameSite: 'strict', secure, path: '/dashboard' } as const;
}

export function setSessionCookie(request: Request, response: Response, config: Config, token: string): void {
  response.cookie(nameFor(request), token, { ...options(request, config), maxAge: sessionMs });
}

export function clearSessionCookie(request: Request, response: Response, config: Config): void {
  response.clearCookie(nameFor(request), options(request, config));
}
