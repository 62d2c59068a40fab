// Puts the built pages of packages/dashboard beside the server's code, so that the server's package carries them.
import { cpSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = fileURLToPath(new URL('../dashboard/dist', import.meta.url));
if (!existsSync(`${built}/index.html`)) {
  throw new Error(`${built} holds no dashboard: build packages/dashboard first, or run \`npm run build\` at the root`);
}
cpSync(built, fileURLToPath(new URL('dist/dashboard', import.meta.url)), { recursive: true });
