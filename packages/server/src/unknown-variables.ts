import { closest, distance } from 'fastest-levenshtein';
import { settings } from './config.js';

/** Read elsewhere than in the settings: by the command line, the SDK's callers, the examples and the tests. */
const others = [
  'GEN3D_API_KEY',
  'GEN3D_BASE_URL',
  'GEN3D_CONFIG',
  'GEN3D_CONFIG_DIR',
  'GEN3D_CLUSTER_JOBS',
  'GEN3D_FORBIDDEN_ADDRESS',
  'GEN3D_PREVIEW',
  'GEN3D_RANDOM_CASES',
  'GEN3D_WEBHOOK_SECRET',
];

/** What nobody sets by hand: the tests' own, and what Kubernetes gives each pod about a service whose name begins with gen3d. */
const ignored = /^GEN3D_TEST_|_SERVICE_(HOST|PORT)(_|$)|_PORT(_\d+_(TCP|UDP)(_|$)|$)/;

/** A sentence for each variable that begins with GEN3D_ and that nothing reads: misspelt, most likely. */
export function unknownVariables(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = [...settings.map(({ variable }) => variable), ...others];
  return Object.keys(env)
    .filter((name) => name.startsWith('GEN3D_') && !known.includes(name) && !ignored.test(name))
    .map((name) => {
      const nearest = closest(name, known);
      // What all names begin with says nothing about how near they are.
      const near = distance(name, nearest) <= 0.5 * (name.length - 'GEN3D_'.length);
      return `${name} is no setting and is ignored${near ? `: did you mean ${nearest}?` : '; see docs/configuration.md'}`;
    });
}
