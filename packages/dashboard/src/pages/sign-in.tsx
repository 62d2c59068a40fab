import { Session } from '@gen3d/schema/dashboard';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { createApi, parseResponse } from '../api.js';
import { Button } from '../components/buttons.js';
import { Problem } from '../components/feedback.js';
import { Logo, useTitle } from '../layout.js';

const api = createApi(undefined);
const isLoopback = ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname);

/** Reads the token of a sign-in link. It is in the fragment, which browsers do not send to servers, proxies or logs. */
const linkToken = () => (location.pathname === '/dashboard/sign-in' ? location.hash.slice(1) : '');

export function SignInPage(props: { ended: boolean; onSignedIn: (session: Session) => void }) {
  const { ended, onSignedIn } = props;
  useTitle('Sign in');
  const { route } = useLocation();
  const [link, setLink] = useState(linkToken);
  const [apiKey, setApiKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();

  const signIn = useCallback(
    async (credentials: { link: string } | { api_key: string }) => {
      setBusy(true);
      setProblem(undefined);
      try {
        const session = parseResponse(Session, await api.send('POST', '/session', credentials));
        // Remove the used link from the address bar and the history.
        if (location.pathname === '/dashboard/sign-in') route('/', true);
        onSignedIn(session);
      } catch (error) {
        setProblem((error as Error).message);
        setLink('');
        setBusy(false);
      }
    },
    [onSignedIn, route],
  );

  // Elsewhere a click is needed, so that a mail or chat program that previews the link does not use it up.
  useEffect(() => {
    if (link && isLoopback) void signIn({ link });
  }, [link, signIn]);

  if (link && isLoopback) return null;
  return (
    <main class="centered">
      <h1 class="wordmark">
        <Logo />
        gen3d
      </h1>
      {ended && <p role="status">Your session has ended. Sign in again.</p>}
      {link ? (
        <>
          <p>This link signs you in as the operator of this server.</p>
          <Button
            label="Sign in as operator"
            class="primary full-width"
            disabled={busy}
            onClick={() => void signIn({ link })}
          />
        </>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void signIn({ api_key: apiKey });
          }}
        >
          <p>
            gen3d turns a photo of an object into a textured 3D model, a GLB file. Sign in with an API key of your
            account.
          </p>
          {/* Password managers store a password under a user name. */}
          <input type="text" name="username" autocomplete="username" value="member" readOnly hidden />
          <label>
            API key
            <input
              type="password"
              name="api-key"
              autocomplete="current-password"
              placeholder="gen3d_…"
              required
              value={apiKey}
              onInput={(event) => setApiKey(event.currentTarget.value)}
            />
          </label>
          <Button type="submit" label="Sign in" class="primary full-width" disabled={busy} />
        </form>
      )}
      <Problem text={problem} />
      <p class="hint">
        Do you run this server? <code>gen3d admin sign-in-link</code> prints a link that signs you in as its operator.{' '}
        <a href="/docs" target="_top">
          Documentation
        </a>
      </p>
    </main>
  );
}
