import { useTitle } from '../title.js';

export function NotFoundPage() {
  useTitle('Not found');
  return (
    <section class="empty">
      <h1>There is no such page</h1>
      <p>
        <a href="/">Back to the models</a>
      </p>
    </section>
  );
}
