import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { AccountMenu } from './components/account-menu.js';
import { useSession } from './session.js';

const modelsPage = { href: '/', name: 'Models' };
const operatorPage = { href: '/dashboard/operator', name: 'Operator' };
const passwordPage = '/dashboard/password';

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
  const isOther = path.startsWith(passwordPage) || otherPages.some(({ href }) => path.startsWith(href));
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
          <AccountMenu passwordPage={passwordPage} />
        </div>
      </header>
      {/* The key discards all state of a page when the account changes. */}
      <main id="content" tabIndex={-1} key={account.account_id}>
        {children}
      </main>
    </>
  );
}
