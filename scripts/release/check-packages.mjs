// `npm run check-packages`: packs the packages with code as for publishing and checks them. Needs a build.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failed, main } from '../processes.mjs';
import { requireNode } from '../repository.mjs';
import { codePackages, pack } from './pack.mjs';
import { verify } from './verify.mjs';

requireNode();

await main(async (atEnd) => {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-packages-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const tarballs = [];
  for (const name of codePackages) tarballs.push((await pack(name, folder)).tarball);
  const problems = await verify(tarballs);
  if (problems.length > 0) throw new Failed(problems.join('\n'));
});
