import { render } from 'preact';
import { ErrorBoundary, LocationProvider, Route, Router } from 'preact-iso';
import { Layout, NotFoundPage } from './layout.js';
import { BalancePage } from './pages/balance.js';
import { GalleryPage } from './pages/gallery.js';
import { JobPage } from './pages/job.js';
import { KeysPage } from './pages/keys.js';
import { OperatorPage } from './pages/operator.js';
import { SignInPage } from './pages/sign-in.js';
import { WebhookPage } from './pages/webhook.js';
import { SessionProvider } from './session.js';

// Earlier versions kept copies of photos in the browser.
globalThis.indexedDB?.deleteDatabase('gen3d');

render(
  <LocationProvider scope={/^\/($|\?|dashboard)/}>
    <ErrorBoundary>
      <SessionProvider signIn={(ended, onSignedIn) => <SignInPage ended={ended} onSignedIn={onSignedIn} />}>
        <Layout>
          <Router>
            <Route path="/" component={GalleryPage} />
            <Route path="/dashboard" component={GalleryPage} />
            {/* A sign-in link that is opened while signed in leads to the models. */}
            <Route path="/dashboard/sign-in" component={GalleryPage} />
            <Route path="/dashboard/jobs/:id" component={JobPage} />
            <Route path="/dashboard/keys" component={KeysPage} />
            <Route path="/dashboard/balance" component={BalancePage} />
            <Route path="/dashboard/webhook" component={WebhookPage} />
            <Route path="/dashboard/operator" component={OperatorPage} />
            <Route default component={NotFoundPage} />
          </Router>
        </Layout>
      </SessionProvider>
    </ErrorBoundary>
  </LocationProvider>,
  document.getElementById('app')!,
);
