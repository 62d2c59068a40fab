import { Session } from '@gen3d/schema/dashboard';
import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useCallback, useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { type Api, createApi } from './api.js';
import { Button } from './components/buttons.js';

type SignedInSession = Exclude<Session, { role: null }>;
type Account = SignedInSession['accounts'][number];

interface SessionState {
  role: SignedInSession['role'];
  /** Whether any rate is above 0. If none is, pages show seconds of work instead of money. */
  charges: boolean;
  /** The id of the key that signed in; null for the operator. */
  keyId: string | null;
  /** A member's own account; for the operator, the first accounts and the chosen one. */
  accounts: Account[];
  account: Account;
  chooseAccount: (accountId: string) => Promise<void>;
  /** Acts for the chosen account. */
  api: Api;
  /** Reads the session again, after accounts have changed. */
  refresh: () => Promise<void>;
  signOut: () => Promise<void>;
}

const Context = createContext<SessionState | undefined>(undefined);

/** Returns the session. Works only in components below {@link SessionProvider}. */
export function useSession(): SessionState {
  const session = useContext(Context);
  if (!session) throw new Error('useSession needs a SessionProvider above it');
  return session;
}

const anonymousApi = createApi(undefined);
/** Key in the session storage: each browser tab can show another account. */
const chosenAccountKey = 'gen3d-account';

/** Shows `signIn` until someone has signed in. */
export function SessionProvider(props: {
  children: ComponentChildren;
  /** `ended`: whether the session ended other than by signing out on this page. */
  signIn: (ended: boolean, onSignedIn: (session: Session) => void) => JSX.Element;
}) {
  const [session, setSession] = useState<Session>();
  const [ended, setEnded] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [chosenId, setChosenId] = useState(() => sessionStorage.getItem(chosenAccountKey));

  const refresh = useCallback(async (chosen: string | null) => {
    try {
      const query = chosen === null ? '' : `?${new URLSearchParams({ account: chosen })}`;
      setSession(await anonymousApi.get(`/session${query}`, Session));
      setProblem(undefined);
    } catch (error) {
      setProblem((error as Error).message);
    }
  }, []);
  // Only once: choosing another account reads the session if necessary.
  useEffect(() => void refresh(chosenId), [refresh]);

  const clearSession = useCallback((isEnded: boolean) => {
    setEnded(isEnded);
    setSession({ role: null });
  }, []);
  const state = useMemo<SessionState | undefined>(() => {
    if (!session || session.role === null) return undefined;
    const account = session.accounts.find(({ account_id }) => account_id === chosenId) ?? session.accounts[0];
    if (!account) return undefined;
    const api = createApi(account.account_id, () => clearSession(true));
    return {
      role: session.role,
      keyId: session.key_id,
      charges: session.charges,
      accounts: session.accounts,
      account,
      async chooseAccount(accountId) {
        sessionStorage.setItem(chosenAccountKey, accountId);
        if (!session.accounts.some(({ account_id }) => account_id === accountId)) await refresh(accountId);
        setChosenId(accountId);
      },
      api,
      refresh: () => refresh(account.account_id),
      async signOut() {
        await anonymousApi.send('DELETE', '/session');
        clearSession(false);
      },
    };
  }, [session, chosenId, refresh, clearSession]);

  if (problem !== undefined) {
    return (
      <main class="centered">
        <h1>gen3d</h1>
        <p role="alert">{problem}</p>
        <Button label="Try again" class="primary" onClick={() => void refresh(chosenId)} />
      </main>
    );
  }
  if (!session) return null;
  if (!state) return props.signIn(ended, setSession);
  return <Context value={state}>{props.children}</Context>;
}
