// Writes docs/openapi.json from the schemas. Part of `npm run docs`. Needs a build.
import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../../packages/schema/dist/openapi.js';

const document = `${JSON.stringify(openApiDocument(), null, 2)}\n`;
writeFileSync(new URL('../../docs/openapi.json', import.meta.url), document);
