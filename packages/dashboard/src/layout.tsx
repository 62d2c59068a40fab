import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { useSession } from './session.js';

const modelsPage = { href: '/', name: 'Models' };
const accountPages = [
  { href: '/dashboard/keys', name: 'API keys' },
  { href: '/dashboard/balance', name: 'Balance' },
  { href: '/dashboard/webhook', name: 'Webhook' },
];
const operatorPage = { href: '/dashboard/operator', name: 'Operator' };
const passwordPage = { href: '/dashboard/password', name: 'Password' };
const otherPages = [...accountPages, operatorPage, passwordPage];

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
  const { role, account, accounts, chooseAccount, signOut } = useSession();
  // The pages of jobs belong to the models page, and so does every path that is not another page's.
  const current = otherPages.find(({ href }) => path.startsWith(href)) ?? modelsPage;
  const ariaCurrent = (page: typeof modelsPage) => (page === current ? 'page' : undefined);
  const pages = [modelsPage, ...accountPages, ...(role === 'operator' ? [operatorPage] : [])];
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
          {pages.map((page) => (
            <a key={page.href} href={page.href} aria-current={ariaCurrent(page)}>
              {page.name}
            </a>
          ))}
          {/* The router ignores links with a target: this page is not part of the application. */}
          <a href="/docs" target="_top">
            Docs
          </a>
        </nav>
        <div class="account-bar">
          {role === 'operator' ? (
            <select
              aria-label="Account"
              value={account.account_id}
              onChange={(event) => chooseAccount(event.currentTarget.value)}
            >
              {accounts.map(({ account_id, name }) => (
                <option key={account_id} value={account_id}>
                  {name}
                </option>
              ))}
            </select>
          ) : (
            <span class="account">{account.name}</span>
          )}
          {role === 'operator' && (
            <a class="button quiet" href={passwordPage.href} aria-current={ariaCurrent(passwordPage)}>
              {passwordPage.name}
            </a>
          )}
          <button type="button" class="quiet" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </header>
      {/* The key discards all state of a page when the account changes. */}
      <main id="content" tabIndex={-1} key={account.account_id}>
        {children}
      </main>
    </>
  );
}
