import { Failed } from '../processes.mjs';

/**
 * @typedef {object} Component
 * @property {string} name
 * @property {string} version
 * @property {ReadonlyArray<{ license?: { id?: string, name?: string }, expression?: string }>} [licenses]
 */

/** Packages whose terms have no SPDX identifier. */
const withNotice = ['@gen3d/model-isnet'];

/**
 * A line for each package of a CycloneDX SBOM.
 *
 * @param {{ components: readonly Component[] }} sbom
 * @throws {Failed} naming packages without a license
 */
export function licensesOf({ components }) {
  const lines = components.map(({ name, version, licenses = [] }) => {
    const names = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name);
    const license = withNotice.includes(name) ? 'see its NOTICE.md' : names.join(', ');
    return { name: `${name} ${version}`, license };
  });
  const unlicensed = lines.filter(({ license }) => license === '');
  if (unlicensed.length > 0) throw new Failed(`Without a license: ${unlicensed.map(({ name }) => name).join(', ')}`);
  return lines
    .map(({ name, license }) => `${name}: ${license}\n`)
    .sort()
    .join('');
}
