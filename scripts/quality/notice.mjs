const licenceUrls = {
  'CC0 1.0': 'https://creativecommons.org/publicdomain/zero/1.0/',
  'CC BY 3.0': 'https://creativecommons.org/licenses/by/3.0/',
  'CC BY 3.0 US': 'https://creativecommons.org/licenses/by/3.0/us/',
};

/** The NOTICE.md of a set: whose models these are, under which terms, and what was done to them. */
export function notice({ sources, notice: words }, objects, models) {
  const rows = objects.map(({ id, source }) => {
    const { title, author, licence, page } = models.get(id);
    return `| \`${id}\` | ${page ? `[${title}](${page})` : title} | ${author} | ${licence} | ${source} |`;
  });
  const places = Object.entries(sources).map(([name, source]) => {
    const where = source.package
      ? `Debian package \`${source.package}\` ${source.version}`
      : `${source.repository}, commit \`${source.commit}\``;
    return `- **${name}:** ${where}. ${source.about}`;
  });
  const used = Object.entries(licenceUrls).filter(([name]) =>
    objects.some(({ id }) => models.get(id).licence === name),
  );
  return [
    '# Whose models these are',
    '',
    '<!-- Written by scripts/quality/make-set.mjs. -->',
    '',
    ...words,
    '',
    'Changed here: each model was moved, scaled, where needed turned, its glass made opaque, lit and photographed twice',
    '(`photos/`), and points of its surface were taken down with their colours (`points/`). The models themselves are not here.',
    '',
    ...places,
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
