// Copies the pages of the dashboard into the server's package.
import { cpSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

const dashboard = path('../dashboard/dist');
if (!existsSync(`${dashboard}/index.html`)) {
  throw new Error(
    `${dashboard} contains no dashboard. Build packages/dashboard first, or run \`npm run build\` at the root`,
  );
}
cpSync(dashboard, path('dist/dashboard'), { recursive: true });
