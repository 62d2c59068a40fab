import { useTitle } from '../layout.js';

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
