import { useState } from 'preact/hooks';
import { ConfirmButton } from '../parts/confirm-button.js';
import { Problem } from '../parts/problem.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';
import { NotFoundPage } from './not-found.js';

const shortest = 12;

/** The operator's password, which is signed in with instead of a link. */
export function PasswordPage() {
  useTitle('Password');
  const { role, hasPassword, call, refresh } = useSession();
  const [password, setPassword] = useState('');
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState<string>();

  const attempt = async (act: () => Promise<unknown>, success: string) => {
    setSaid('');
    try {
      await act();
      setPassword('');
      setProblem(undefined);
      setSaid(success);
      await refresh();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };

  if (role !== 'operator') return <NotFoundPage />;
  return (
    <>
      <h1>Operator password</h1>
      <p class="lead">
        {hasPassword
          ? 'The operator signs in with a password, or with a link that gen3d admin sign-in-link prints.'
          : 'The operator signs in with a link that gen3d admin sign-in-link prints. A password is the shorter way.'}
      </p>
      <form
        class="panel narrow"
        onSubmit={(event) => {
          event.preventDefault();
          void attempt(
            () => call('PUT', '/operator-password', { password }),
            'The password is set. Whoever else was signed in as the operator no longer is.',
          );
        }}
      >
        {/* For password managers, which keep a password under a name. */}
        <input type="text" name="username" autocomplete="username" value="operator" readOnly hidden />
        <label>
          New password, at least {shortest} characters
          <input
            type="password"
            name="new-password"
            autocomplete="new-password"
            minLength={shortest}
            maxLength={200}
            required
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </label>
        <div class="row">
          <button type="submit" class="primary">
            {hasPassword ? 'Change' : 'Set'}
          </button>
          {hasPassword && (
            <ConfirmButton
              label="Remove"
              question="Remove the password?"
              consequence="The operator then signs in with a link only. Whoever else is signed in as the operator is signed out."
              onConfirm={() => void attempt(() => call('DELETE', '/operator-password'), 'The password is removed.')}
            />
          )}
        </div>
      </form>
      <Problem text={problem} />
      <p role="status" class="said">
        {said}
      </p>
    </>
  );
}
