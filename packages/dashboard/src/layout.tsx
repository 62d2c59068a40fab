import type { ComponentChildren } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button } from './components/buttons.js';
import { useSession } from './session.js';

const modelsPage = { href: '/', name: 'Models' };
const operatorPage = { href: '/dashboard/operator', name: 'Operator' };

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <path class="logo-side" d="M16 2 28 9v14l-12 7L4 23V9z" />
      <path class="logo-right" d="m16 16 12-7v14l-12 7z" />
      <path class="logo-top" d="M16 2 28 9l-12 7L4 9z" />
    </svg>
  );
}

export function Layout({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const { role, account, charges } = useSession();
  const otherPages = [
    { href: '/dashboard/keys', name: 'API keys' },
    { href: '/dashboard/balance', name: charges ? 'Balance' : 'Usage' },
    { href: '/dashboard/webhook', name: 'Webhook' },
    ...(role === 'operator' ? [operatorPage] : []),
  ];
  // The pages of jobs belong to the models page, and so does every path that is not another page's.
  const isOther = otherPages.some(({ href }) => path.startsWith(href));
  const isCurrent = ({ href }: typeof modelsPage) => (href === modelsPage.href ? !isOther : path.startsWith(href));
  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href="/" aria-label="gen3d, models">
          <Logo />
          <span>gen3d</span>
        </a>
        <nav aria-label="Pages">
          {[modelsPage, ...otherPages].map((page) => (
            <a key={page.href} href={page.href} aria-current={isCurrent(page) ? 'page' : undefined}>
              {page.name}
            </a>
          ))}
        </nav>
        <div class="account-bar">
          {/* The router ignores links with a target: this page is not part of the application. */}
          <a class="button quiet" href="/docs" target="_top">
            Docs
          </a>
          <AccountMenu />
        </div>
      </header>
      {/* The key discards all state of a page when the account changes. */}
      <main id="content" tabIndex={-1} key={account.account_id}>
        {children}
      </main>
    </>
  );
}

const menuId = 'account-menu';

/** Shows the account's name as a button that opens a menu. The browser closes it on Escape and on clicks elsewhere. */
function AccountMenu() {
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
                void chooseAccount(event.currentTarget.value);
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
        {accounts.length >= 100 && (
          <a href={operatorPage.href} onClick={close}>
            More accounts
          </a>
        )}
        <Button label="Sign out" onClick={() => void signOut()} />
      </div>
    </>
  );
}

/** Sets the title of the browser tab, which a screen reader also announces. */
export function useTitle(title: string): void {
  // Runs before the browser paints, so the title changes together with the heading. `useEffect` would leave the
  // previous page's title for a moment.
  useLayoutEffect(() => {
    document.title = `${title} · gen3d`;
  }, [title]);
}

export function NotFoundPage() {
  useTitle('Not found');
  return (
    <section class="empty">
      <h1>Page not found</h1>
      <p>
        <a href="/">Back to the models</a>
      </p>
    </section>
  );
}
