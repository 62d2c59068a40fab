import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { photoFormatNames, viewSides } from '@gen3d/schema/rules';
import type { Gen3d } from '@gen3d/sdk';
import { type Command, Option } from 'commander';
import { simultaneousStartMs, withClient } from '../../connection/client.js';
import { UsageError } from '../../exit/failure.js';
import {
  addModelOptions,
  addModelServerOptions,
  addSamplerOptions,
  modelOptionWords,
  samplerOf,
} from '../../jobs/model-options.js';
import { extensions, modelPath, planOutputs } from '../../jobs/output-file.js';
import { isDataUri, isFile, isUrl, missingFile, requirePhotoFile, requireUrl } from '../../jobs/photo-input.js';
import { groupPhotos, type PhotoSet, photosOf } from '../../jobs/photo-set.js';
import { shellWord } from '../../terminal/format.js';
import { requirePipe, say, shownName } from '../../terminal/terminal.js';
import { createAndWait } from './create-and-wait.js';
import { createOnly } from './create-only.js';
import { type CreateOptions, type Item, inTurns } from './item.js';

export function addCreate(program: Command): void {
  const command = program
    .command('create')
    .summary('turn photos into 3D models')
    .description(
      `Create a job for each photo (${photoFormatNames.join(', ')}). With --wait, wait for the jobs and write the models.\n` +
        'Photos of other sides of the object make a better model: pass them with --left, --back and --right, or name them\n' +
        'mug.left.jpg, mug.back.jpg and mug.right.jpg, and pass them together with mug.jpg.',
    )
    .argument('<image...>', 'paths, http(s) URLs, or - for stdin')
    .option('-w, --wait', 'show progress, then write photo.glb next to photo.jpg')
    .option('-o, --output <path>', `with --wait: the ${extensions()} to write, or a folder; - for stdout`)
    .option('-f, --force', 'overwrite existing files')
    .option('--json', 'print the response of the API, one object per line; with --wait the finished task')
    .option('--open', 'open the job in the dashboard (the gallery for several photos); with --wait the model file');
  for (const side of viewSides) {
    const where = side === 'back' ? 'behind' : `the ${side} of the photographer`;
    command.addOption(new Option(`--${side} <image>`, `a photo of the same object from ${where}; for one front only`));
  }
  addModelOptions(addModelServerOptions(addSamplerOptions(command))).action(
    (images: string[], _: unknown, command: Command) => create(images, command.optsWithGlobals()),
  );
}

async function create(images: readonly string[], options: CreateOptions): Promise<void> {
  // These change the model after the download.
  const words = modelOptionWords(options);
  if (!options.wait && (options.output !== undefined || options.force || words)) {
    throw new UsageError(words ? `${words.trim()} requires --wait` : '-o and --force require --wait');
  }
  const sets = photoSets(images, options);
  await requirePhotos(sets);
  const fronts = sets.map(({ front }) => front);
  const paths = options.wait ? await planOutputs(fronts.map(modelPath), options, fronts) : [];
  const turns = inTurns();
  const settings = { sampler: samplerOf(options), options: options.option };
  const items = sets.map(
    (photos, index): Item => ({ photos, name: nameOf(photos.front), path: paths[index], turns, settings }),
  );
  const work = (client: Gen3d, signal: AbortSignal) =>
    options.wait ? createAndWait(client, items, options, signal) : createOnly(client, items, options, signal);
  await withClient(options, work, simultaneousStartMs);
}

/** Says which photos are of one object, unless the options do. */
function photoSets(images: readonly string[], options: CreateOptions): PhotoSet[] {
  const given = viewSides.filter((side) => options[side] !== undefined);
  const [front = '', ...others] = images;
  if (given.length > 0) {
    if (others.length === 0) return [{ front, views: Object.fromEntries(given.map((side) => [side, options[side]])) }];
    const problem = `--${given.join(' and --')} shows a side of one object, but there are ${images.length} fronts`;
    throw new UsageError(`${problem}. Use one command for each object`);
  }
  const sets = groupPhotos(images);
  for (const { front, views, apart } of sets) {
    const sides = Object.entries(views).map(([side, photo]) => `${shownName(basename(photo))} (${side})`);
    if (sides.length > 0) say(`${shownName(basename(front))} is one object with ${sides.join(', ')}`);
    if (apart !== undefined) say(`${shownName(basename(front))} is an object of its own: ${apart}`);
  }
  return sets;
}

/** Checks all photos before sending the first, so that a typo in the last name creates no jobs. */
async function requirePhotos(sets: readonly PhotoSet[]): Promise<void> {
  const photos = sets.flatMap(photosOf);
  if (photos.filter((photo) => photo === '-').length > 1) throw new UsageError('- (stdin) can be given only once');
  for (const photo of photos) {
    if (photo === '-') requirePipe('gen3d create - --wait < photo.jpg');
    if (isUrl(photo)) requireUrl(photo);
    if (!isFile(photo)) continue;
    if (photo === '') {
      throw new UsageError('The path of a photo is empty. Check for an unset variable, or pass - for stdin');
    }
    const file = await stat(photo).catch((cause: unknown) => {
      throw missingFile(photo, cause);
    });
    const advice = file.isDirectory()
      ? `Pass the photos in it, such as ${shellWord(photo)}/*.jpg, or run \`gen3d watch ${shellWord(photo)}\``
      : `To read a photo from a pipe, pass - for stdin, as in \`gen3d create - < photo.jpg\``;
    if (!file.isFile()) throw new UsageError(`${shownName(photo)} is not a file. ${advice}`);
    // Of several objects, the one with a file that is not a photo fails later, and the others become models.
    if (sets.length === 1) await requirePhotoFile(photo);
  }
}

function nameOf(image: string): string {
  if (image === '-') return 'stdin';
  if (isDataUri(image)) return 'data URI';
  return isUrl(image) ? image : shownName(basename(image));
}
