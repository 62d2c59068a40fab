const licenseUrls = {
  'CC0 1.0': 'https://creativecommons.org/publicdomain/zero/1.0/',
  'CC BY 3.0': 'https://creativecommons.org/licenses/by/3.0/',
  'CC BY 3.0 US': 'https://creativecommons.org/licenses/by/3.0/us/',
};

/** @typedef {import('./sources.mjs').ObjectDescription} ObjectDescription */
/** @typedef {import('./sources.mjs').SourceDescription} SourceDescription */
/** @typedef {import('./sources.mjs').Model} Model */

/**
 * The NOTICE.md of a set: the authors of its models, their terms, and how the models were changed.
 *
 * @param {{ sources: Record<string, SourceDescription>, notice: string[] }} set
 * @param {readonly ObjectDescription[]} objects
 * @param {(id: string) => Model} modelOf
 */
export function notice({ sources, notice: introduction }, objects, modelOf) {
  const rows = objects.map(({ id, source }) => {
    const { title, author, license, page } = modelOf(id);
    return `| \`${id}\` | ${page ? `[${title}](${page})` : title} | ${author} | ${license} | ${source} |`;
  });
  const sourceLines = Object.entries(sources).map(([name, source]) => {
    const origin = source.package
      ? `Debian package \`${source.package}\` ${source.version}`
      : `${source.repository}, commit \`${source.commit}\``;
    return `- **${name}:** ${origin}. ${source.about}`;
  });
  const used = Object.entries(licenseUrls).filter(([name]) => objects.some(({ id }) => modelOf(id).license === name));
  return [
    '# Authors and licenses',
    '',
    '<!-- Written by models/lab/quality/make-set.mjs. -->',
    '',
    ...introduction,
    '',
    'Changes: each model was moved, scaled, rotated if necessary, and its glass made opaque. It was then rendered',
    '(`photos/`), and points of its surface were sampled with their colors (`points/`). The models themselves are not here.',
    '',
    ...sourceLines,
    '',
    `Licenses: ${used.map(([name, url]) => `[${name}](${url})`).join(', ')}; other licenses are below.`,
    '',
    '| Object | Title | Author | License | Source |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    ...Object.values(sources).flatMap(({ terms }) => (terms ? [...terms, ''] : [])),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
}
