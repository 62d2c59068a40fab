import type { Admin } from '../src/index.js';
import type { ApiResponse, TestServer } from './kit.js';

export interface Browser {
  cookie: string | undefined;
  setCookie: string;
  signedIn: ApiResponse;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
}

export const tokenOf = (link: string): string => link.slice(link.indexOf('#') + 1);
export const codeOf = ({ body }: ApiResponse): string | undefined => (body as { error?: { code: string } }).error?.code;

/** The requests that browsers send from a server's pages, without a browser. */
export function browsersOn(server: () => TestServer, admin: () => Admin) {
  const ownOrigin = () => ({ origin: server().url });

  async function send(
    method: string,
    path: string,
    body: unknown,
    headers: Record<string, string>,
  ): Promise<ApiResponse & { setCookie: string }> {
    const response = await fetch(`${server().url}/dashboard/api${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
      setCookie: response.headers.getSetCookie().join('\n'),
    };
  }

  /** A browser on one of the server's pages, signed in if the credentials are valid. */
  async function signIn(credentials: unknown, headers: Record<string, string> = {}): Promise<Browser> {
    const { setCookie, ...signedIn } = await send('POST', '/session', credentials, { ...ownOrigin(), ...headers });
    const cookie = setCookie.split(';', 1)[0] || undefined;
    return {
      cookie,
      setCookie,
      signedIn,
      call: (method, path, body, extra = {}) =>
        send(method, path, body, { ...ownOrigin(), ...(cookie ? { cookie } : {}), ...extra }),
    };
  }

  return {
    ownOrigin,
    send,
    signIn,
    newOperator: async () => signIn({ link: tokenOf(await admin().signInLink()) }),
  };
}
