// Copies the files that the server's package contains besides code: the pages of the dashboard, and the catalog of
// bundles with the skeletons that it names.
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
for (const name of ['catalogue.json', 'skeletons']) {
  cpSync(path(`../../models/${name}`), path(`dist/models/${name}`), { recursive: true });
}
