import { z } from 'zod';
import { Manifest } from './manifest.js';

/**
 * `models/catalogue.json`: bundles that are not shipped and can be pulled. An entry is the manifest to write beside the
 * files and, for each of the manifest's files, where it lies; the manifest's SHA-256 decides whether what came is right.
 */
export const Catalogue = z.strictObject({
  formatVersion: z.literal(1),
  bundles: z.array(
    z
      .strictObject({ manifest: Manifest, urls: z.record(z.string(), z.url({ protocol: /^https$/ })) })
      .check(({ value, issues }) => {
        for (const { name } of value.manifest.files) {
          if (!value.urls[name])
            issues.push({ code: 'custom', path: ['urls', name], message: 'missing', input: value.urls });
        }
      }),
  ),
});
export type Catalogue = z.infer<typeof Catalogue>;
