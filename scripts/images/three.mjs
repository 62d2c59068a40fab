// Renders docs/pictures/in-three.jpg: each demo photo's model in our renderer and, below it, in three.js in headless
// Chromium (WebGL), from the same sides. Shows whether another viewer gives the same result, the same way up.
//
// Needs the output of `npm run demo` and Chromium, at its usual path or at that in CHROMIUM.
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { main } from '../processes.mjs';
import { requireFrom, root } from '../repository.mjs';
import { contactSheet, demoModels, tile, views } from './contact-sheet.mjs';
import { openThree } from './three-page.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

/** @typedef {import('./contact-sheet.mjs').Side} Side */
/** @type {readonly Side[]} */
const sides = ['threeQuarter', 'front', 'side', 'back'];
const size = 180;
await main(async (atEnd) => {
  const three = await openThree(atEnd);
  const rows = [];
  for (const model of demoModels()) {
    rows.push(await contactSheet([model], { size, sides, quality: 95 }));
    await three.load(`demo-output/${basename(model.glb)}`);
    // The photo's column stays empty.
    const renders = [await blankTile()];
    for (const side of sides) renders.push(await three.render(views[side], size));
    rows.push(await tile(renders, renders.length, size).png().toBuffer());
  }
  const sheet = sharp({
    create: { width: (1 + sides.length) * size, height: rows.length * size, channels: 3, background: '#fff' },
  }).composite(rows.map((input, index) => ({ input, left: 0, top: index * size })));
  writeFileSync(join(root, 'docs/pictures/in-three.jpg'), await sheet.jpeg({ quality: 78, mozjpeg: true }).toBuffer());
});

function blankTile() {
  return sharp({ create: { width: size, height: size, channels: 3, background: '#fff' } })
    .png()
    .toBuffer();
}
