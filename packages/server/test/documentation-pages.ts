/** The pages of the documentation that the server delivers. */
export const documentationPages = [
  '/docs',
  '/docs/contract',
  '/docs/errors',
  '/docs/webhooks',
  '/docs/sdk',
  '/docs/cli',
  '/docs/configuration',
];
