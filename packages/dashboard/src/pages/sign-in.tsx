import { useCallback, useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { callAs, type Session } from '../api.js';
import { Logo } from '../parts/logo.js';
import { Problem } from '../parts/problem.js';
import { useTitle } from '../title.js';

const call = callAs(undefined);
const onLoopback = ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname);

/** The token of a sign-in link is in the fragment, which no server, proxy or log gets to see. */
const linkToken = () => (location.pathname === '/dashboard/sign-in' ? location.hash.slice(1) : '');

export function SignInPage({ done }: { done: (session: Session) => void }) {
  useTitle('Sign in');
  const { route } = useLocation();
  const [link, setLink] = useState(linkToken);
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();

  const signIn = useCallback(
    async (proof: { link: string } | { api_key: string }) => {
      setBusy(true);
      setProblem(undefined);
      try {
        const session = await call<Session>('POST', '/session', proof);
        // The link is used up, and the address bar and the history are no place for it.
        if (location.pathname === '/dashboard/sign-in') route('/', true);
        done(session);
      } catch (error) {
        setProblem((error as Error).message);
        setLink('');
        setBusy(false);
      }
    },
    [done, route],
  );

  // Elsewhere a click is asked for: what previews links in mails and chats must not use one up.
  useEffect(() => {
    if (link && onLoopback) void signIn({ link });
  }, [link, signIn]);

  if (link && onLoopback) return null;
  return (
    <main class="alone">
      <h1 class="wordmark">
        <Logo />
        gen3d
      </h1>
      {link ? (
        <>
          <p>This link signs this browser in as the operator of the server.</p>
          <button type="button" class="primary wide" disabled={busy} onClick={() => void signIn({ link })}>
            Sign in as operator
          </button>
        </>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void signIn({ api_key: key });
          }}
        >
          <p>Photos in, 3D models out. Sign in with an API key to see your account.</p>
          <label>
            API key
            <input
              type="password"
              name="api-key"
              autocomplete="current-password"
              placeholder="gen3d_…"
              required
              value={key}
              onInput={(event) => setKey(event.currentTarget.value)}
            />
          </label>
          <button type="submit" class="primary wide" disabled={busy}>
            Sign in
          </button>
        </form>
      )}
      <Problem text={problem} />
      <p class="hint">
        Do you run this server? <code>gen3d admin sign-in-link</code> prints a link that signs you in as its operator.
      </p>
    </main>
  );
}
