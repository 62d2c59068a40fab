import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useCallback, useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { type AccountName, type Call, callAs, type Session } from './api.js';
import { forgetPhotos } from './photos/kept-photos.js';

interface SignedIn {
  role: 'operator' | 'member';
  /** Whether the operator has set a password. */
  hasPassword: boolean;
  /** The key that signed in; null for the operator. */
  keyId: string | null;
  accounts: AccountName[];
  account: AccountName;
  chooseAccount: (accountId: string) => void;
  /** Calls on behalf of the chosen account. */
  call: Call;
  /** Asks again who is signed in, after accounts have changed. */
  refresh: () => Promise<void>;
  signOut: () => Promise<void>;
}

const Context = createContext<SignedIn | undefined>(undefined);

/** The session of a page that is shown only to those who are signed in. */
export function useSession(): SignedIn {
  const session = useContext(Context);
  if (!session) throw new Error('this page is shown to nobody but those who are signed in');
  return session;
}

const anonymous = callAs(undefined);
const chosenKey = 'gen3d-account';

export function SessionProvider(props: {
  children: ComponentChildren;
  /** `ended`: somebody was signed in, and did not sign out here. */
  signIn: (hasPassword: boolean, ended: boolean, done: (session: Session) => void) => JSX.Element;
}) {
  const [session, setSession] = useState<Session>();
  const [ended, setEnded] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [chosen, setChosen] = useState(() => sessionStorage.getItem(chosenKey));

  const refresh = useCallback(async () => {
    try {
      setSession(await anonymous<Session>('GET', '/session'));
      setProblem(undefined);
    } catch (error) {
      setProblem((error as Error).message);
    }
  }, []);
  useEffect(() => void refresh(), [refresh]);

  const account =
    session?.role != null
      ? (session.accounts.find(({ account_id }) => account_id === chosen) ?? session.accounts[0])
      : undefined;

  const signedOut = useCallback(
    () => setSession((known) => ({ role: null, operator_password: known?.operator_password ?? false })),
    [],
  );
  const sessionEnded = useCallback(() => {
    setEnded(true);
    signedOut();
  }, [signedOut]);
  const value = useMemo<SignedIn | undefined>(() => {
    if (session?.role == null || !account) return undefined;
    return {
      role: session.role,
      keyId: session.key_id,
      hasPassword: session.operator_password,
      accounts: session.accounts,
      account,
      chooseAccount(accountId) {
        sessionStorage.setItem(chosenKey, accountId);
        setChosen(accountId);
      },
      call: callAs(account.account_id, sessionEnded),
      refresh,
      async signOut() {
        await anonymous('DELETE', '/session');
        await forgetPhotos();
        setEnded(false);
        signedOut();
      },
    };
  }, [session, account, refresh, signedOut, sessionEnded]);

  if (problem !== undefined) {
    return (
      <main class="alone">
        <h1>gen3d</h1>
        <p role="alert">{problem}</p>
        <button type="button" class="primary" onClick={() => void refresh()}>
          Try again
        </button>
      </main>
    );
  }
  if (!session) return null;
  if (!value) return props.signIn(session.operator_password, ended, setSession);
  return <Context value={value}>{props.children}</Context>;
}
