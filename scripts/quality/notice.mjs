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
    const { title, author, licence, page } = modelOf(id);
    return `| \`${id}\` | ${page ? `[${title}](${page})` : title} | ${author} | ${licence} | ${source} |`;
  });
  const sourceLines = Object.entries(sources).map(([name, source]) => {
    const origin = source.package
      ? `Debian package \`${source.package}\` ${source.version}`
      : `${source.repository}, commit \`${source.commit}\``;
    return `- **${name}:** ${origin}. ${source.about}`;
  });
  const used = Object.entries(licenseUrls).filter(([name]) => objects.some(({ id }) => modelOf(id).licence === name));
  return [
    '# Whose models these are',
    '',
    '<!-- Written by scripts/quality/make-set.mjs. -->',
    '',
    ...introduction,
    '',
    'Changed here: each model was moved, scaled, where needed turned, its glass made opaque, lit and photographed twice',
    '(`photos/`), and points of its surface were taken down with their colours (`points/`). The models themselves are not here.',
    '',
    ...sourceLines,
    '',
    `Licences: ${used.map(([name, url]) => `[${name}](${url})`).join(', ')}; others in full below.`,
    '',
    '| object | title | author | licence | source |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    ...Object.values(sources).flatMap(({ terms }) => (terms ? [...terms, ''] : [])),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
}
