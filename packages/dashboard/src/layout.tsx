import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { Logo } from './parts/logo.js';
import { useSession } from './session.js';

const places = [
  { href: '/', name: 'Models' },
  { href: '/dashboard/keys', name: 'API keys' },
  { href: '/dashboard/balance', name: 'Balance' },
  { href: '/dashboard/webhook', name: 'Webhook' },
];
const passwordPlace = { href: '/dashboard/password', name: 'Password' };
const operatorPlace = { href: '/dashboard/operator', name: 'Operator' };

export function Layout({ children }: { children: ComponentChildren }) {
  const { path } = useLocation();
  const { role, account, accounts, chooseAccount, signOut } = useSession();
  const isHere = (href: string) =>
    href === '/'
      ? !places
          .slice(1)
          .concat(operatorPlace, passwordPlace)
          .some((place) => path.startsWith(place.href))
      : path.startsWith(href);
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/" aria-label="gen3d, models">
          <Logo />
          <span>gen3d</span>
        </a>
        <nav aria-label="Pages">
          {[...places, ...(role === 'operator' ? [operatorPlace] : [])].map(({ href, name }) => (
            <a key={href} href={href} aria-current={isHere(href) ? 'page' : undefined}>
              {name}
            </a>
          ))}
          {/* The target keeps the router from it: it is no page of this application. */}
          <a href="/docs" target="_top">
            Docs
          </a>
        </nav>
        <div class="who">
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
            <a
              class="button quiet"
              href={passwordPlace.href}
              aria-current={isHere(passwordPlace.href) ? 'page' : undefined}
            >
              {passwordPlace.name}
            </a>
          )}
          <button type="button" class="quiet" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </header>
      {/* A page of another account is another page: nothing of the one before stays on it. */}
      <main id="content" tabIndex={-1} key={account.account_id}>
        {children}
      </main>
    </>
  );
}
