import { formLimits } from '@gen3d/schema/dashboard';
import { useState } from 'preact/hooks';
import { ConfirmButton } from '../components/buttons.js';
import { Problem, Success, useAction } from '../components/feedback.js';
import { NotFoundPage, useTitle } from '../layout.js';
import { useSession } from '../session.js';

const { min: minLength, max: maxLength } = formLimits.passwordLength;

/** Sets or removes the operator's password, an alternative to sign-in links. */
export function PasswordPage() {
  useTitle('Password');
  const { role, hasPassword, api, refresh } = useSession();
  const [password, setPassword] = useState('');
  const { problem, success, run } = useAction();

  const change = async (request: () => Promise<unknown>, message: string) => {
    const succeeded = await run(async () => {
      await request();
      setPassword('');
    }, message);
    if (succeeded) await refresh();
  };

  if (role !== 'operator') return <NotFoundPage />;
  return (
    <>
      <h1>Operator password</h1>
      <p class="lead">
        {hasPassword
          ? 'The operator signs in with this password, or with a link printed by gen3d admin sign-in-link.'
          : 'The operator signs in with a link printed by gen3d admin sign-in-link. Signing in with a password is faster.'}
      </p>
      <form
        class="panel narrow"
        onSubmit={(event) => {
          event.preventDefault();
          void change(
            () => api.send('PUT', '/operator-password', { password }),
            'Password set. All other operator sessions have been signed out.',
          );
        }}
      >
        {/* Password managers store a password under a user name. */}
        <input type="text" name="username" autocomplete="username" value="operator" readOnly hidden />
        <label>
          New password (at least {minLength} characters)
          <input
            type="password"
            name="new-password"
            autocomplete="new-password"
            minLength={minLength}
            maxLength={maxLength}
            required
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </label>
        <div class="row">
          <button type="submit" class="primary">
            {hasPassword ? 'Change password' : 'Set password'}
          </button>
          {hasPassword && (
            <ConfirmButton
              label="Remove"
              question="Remove the password?"
              consequence="The operator can then sign in only with a link. All other operator sessions will be signed out."
              onConfirm={() => void change(() => api.send('DELETE', '/operator-password'), 'Password removed.')}
            />
          )}
        </div>
      </form>
      <Problem text={problem} />
      <Success text={success} />
    </>
  );
}
