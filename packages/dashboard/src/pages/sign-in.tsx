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

export function SignInPage(props: { hasPassword: boolean; ended: boolean; done: (session: Session) => void }) {
  const { hasPassword, ended, done } = props;
  useTitle('Sign in');
  const { route } = useLocation();
  const [link, setLink] = useState(linkToken);
  const [as, setAs] = useState<'member' | 'operator'>('member');
  const [secret, setSecret] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();

  const signIn = useCallback(
    async (proof: { link: string } | { api_key: string } | { password: string }) => {
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
      {ended && <p role="status">Your session ended: sign in again.</p>}
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
            void signIn(as === 'operator' ? { password: secret } : { api_key: secret });
          }}
        >
          <p>Photos in, 3D models out. Sign in with an API key to see your account.</p>
          {hasPassword && (
            <fieldset class="filter">
              <legend class="hidden">Sign in as</legend>
              {(['member', 'operator'] as const).map((one) => (
                <label key={one}>
                  <input
                    type="radio"
                    name="as"
                    checked={as === one}
                    onChange={() => {
                      setAs(one);
                      setSecret('');
                    }}
                  />
                  <span>{one === 'member' ? 'With an API key' : 'As operator'}</span>
                </label>
              ))}
            </fieldset>
          )}
          {/* For password managers, which keep a password under a name. */}
          <input type="text" name="username" autocomplete="username" value={as} readOnly hidden />
          <label>
            {as === 'operator' ? 'Operator password' : 'API key'}
            <input
              key={as}
              type="password"
              name={as === 'operator' ? 'password' : 'api-key'}
              autocomplete="current-password"
              placeholder={as === 'operator' ? undefined : 'gen3d_…'}
              required
              value={secret}
              onInput={(event) => setSecret(event.currentTarget.value)}
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
