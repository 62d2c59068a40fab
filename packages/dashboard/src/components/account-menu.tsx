import { useSession } from '../session.js';

const menuId = 'account-menu';

/** The button with the account's name, and its menu. The browser closes the menu on Escape and on clicks elsewhere. */
export function AccountMenu({ passwordPage }: { passwordPage: string }) {
  const { role, account, accounts, chooseAccount, signOut } = useSession();
  const close = () => document.getElementById(menuId)?.hidePopover();
  return (
    <>
      <button type="button" class="quiet account" popovertarget={menuId}>
        <span class="hidden">Account: </span>
        <span class="file">{account.name}</span>
        <svg class="chevron" viewBox="0 0 12 12" aria-hidden="true">
          <path d="m2 4 4 4 4-4" />
        </svg>
      </button>
      <div id={menuId} class="menu" popover="auto">
        {role === 'operator' ? (
          <label>
            Account
            <select
              value={account.account_id}
              onChange={(event) => {
                chooseAccount(event.currentTarget.value);
                close();
              }}
            >
              {accounts.map(({ account_id, name }) => (
                <option key={account_id} value={account_id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        ) : (
          <p class="hint">Signed in with an API key of {account.name}</p>
        )}
        {role === 'operator' && (
          <a href={passwordPage} onClick={close}>
            Operator password
          </a>
        )}
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </>
  );
}
