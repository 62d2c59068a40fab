// Writes docs/openapi.json from the schemas. Run it after a build: node scripts/docs/openapi.mjs
import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../../packages/schema/dist/openapi.js';

const document = `${JSON.stringify(openApiDocument(), null, 2)}\n`;
writeFileSync(new URL('../../docs/openapi.json', import.meta.url), document);
