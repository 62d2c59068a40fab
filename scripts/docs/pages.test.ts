import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../packages/schema/src/openapi.js';
import { apiPage } from './api-page.js';
import { cliPage } from './cli-page.js';
import { configurationPage } from './configuration-page.js';
import { sdkPage } from './sdk-page.js';

const docs = fileURLToPath(new URL('../../docs/', import.meta.url));

// `npm run docs` runs this file with --update, which writes the pages.
test.each([
  ['api.md', 'the OpenAPI document', apiPage],
  ['cli.md', 'the command line', cliPage],
  ['configuration.md', "the server's settings", configurationPage],
  ['openapi.json', 'the contract', () => `${JSON.stringify(openApiDocument(), undefined, 2)}\n`],
  ['sdk.md', "the SDK's sources", sdkPage],
])(
  'docs/%s is up to date with %s; `npm run docs` updates it',
  async (name, _source, page) => {
    await expect(await page()).toMatchFileSnapshot(`${docs}${name}`);
    // Compiling the SDK takes seconds, and minutes on a busy machine.
  },
  300_000,
);
