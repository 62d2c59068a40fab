// `npm run pack`: packs all packages into release/, as they are published. Needs a build.
import { join } from 'node:path';
import { main } from './processes.mjs';
import { packAll } from './release/pack.mjs';
import { requireNode, root } from './repository.mjs';

requireNode();

await main(async () => {
  const { packages, others } = await packAll(join(root, 'release'));
  for (const { tarball } of [...packages, ...others]) console.log(tarball);
  console.log('\nTo install gen3d on this system:  npm install ./release/*.tgz');
});
