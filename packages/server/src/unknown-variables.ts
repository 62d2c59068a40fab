import { closest, distance } from 'fastest-levenshtein';
import { settings } from './config.js';

/** Variables that are not settings of the server. The command line and users of the SDK read them. */
const others = ['GEN3D_API_KEY', 'GEN3D_BASE_URL', 'GEN3D_CONFIG', 'GEN3D_CONFIG_DIR', 'GEN3D_WEBHOOK_SECRET'];

/** Kubernetes sets these in each pod for a service whose name begins with gen3d. */
const kubernetesVariable = /_SERVICE_(HOST|PORT)(_|$)|_PORT(_\d+_(TCP|UDP)(_|$)|$)/;

/** Returns a warning for each variable that begins with GEN3D_ and has no effect. Most are misspelled. */
export function unknownVariables(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = [...settings.map(({ variable }) => variable), ...others];
  return Object.keys(env)
    .filter((name) => name.startsWith('GEN3D_') && !known.includes(name) && !kubernetesVariable.test(name))
    .map((name) => {
      const nearest = closest(name, known);
      // The common prefix does not count toward the similarity.
      const isSimilar = distance(name, nearest) <= 0.5 * (name.length - 'GEN3D_'.length);
      return `${name} is not a setting and is ignored. ${isSimilar ? `Did you mean ${nearest}?` : 'See docs/configuration.md'}`;
    });
}
