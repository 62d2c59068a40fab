// Copies the catalog, and the skeletons that it names, next to the built code.
import { cpSync } from 'node:fs';
import { join } from 'node:path';

for (const name of ['catalog.json', 'skeletons']) {
  const from = join(import.meta.dirname, '../../models', name);
  cpSync(from, join(import.meta.dirname, 'dist/models', name), { recursive: true });
}
