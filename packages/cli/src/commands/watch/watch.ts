import { stat } from 'node:fs/promises';
import { photoExtensions } from '@gen3d/schema/rules';
import type { Gen3d } from '@gen3d/sdk';
import type { Command } from 'commander';
import { simultaneousStartMs, withClient } from '../../connection/client.js';
import { UsageError } from '../../exit/failure.js';
import { count } from '../../terminal/format.js';
import { say } from '../../terminal/terminal.js';
import { settledPhotos } from './folder-photos.js';
import { PhotoQueue, type WatchOptions } from './photo-queue.js';

export function addWatch(program: Command): void {
  program
    .command('watch')
    .summary('turn new photos in a folder into models')
    .description(
      'Turn existing and new photos in a folder into models next to them, until Ctrl-C.\n' +
        'mug.jpg, mug.left.jpg, mug.back.jpg and mug.right.jpg are photos of one object.\n' +
        'A side waits for its front. To use a side that arrives after the job was created, delete the model.\n' +
        'Skips photos that already have a model, and never creates a second job for a photo, even after a restart.\n' +
        'Retries a failed photo when its file changes. To retry it now, use `gen3d create PHOTO --wait`.',
    )
    .argument('<folder>', `the folder with ${photoExtensions.map((extension) => extension.slice(1)).join(', ')} files`)
    .option('--json', "print the API's task object of each finished photo, one per line")
    .action((folder: string, _: unknown, command: Command) => watch(folder, command.optsWithGlobals()));
}

async function watch(folder: string, options: WatchOptions): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (!found?.isDirectory()) {
    throw new UsageError(`${folder} ${found ? 'is not a folder' : 'does not exist'}. Pass the folder to watch`);
  }
  const work = async (client: Gen3d, signal: AbortSignal) => {
    // Reports a wrong key immediately instead of with the first photo.
    await client.balance.retrieve({ signal });
    const queue = new PhotoQueue(client, options, signal);
    say(`Watching ${folder} (Ctrl-C to stop)`);
    try {
      for await (const photos of settledPhotos(folder, found.ino, queue.signal)) queue.add(photos);
    } finally {
      const unfinished = await queue.stop();
      if (unfinished > 0) say(`${count(unfinished, 'photo')} unfinished. Run the same command to get the models`);
    }
    queue.throwIfKeyRejected();
  };
  await withClient(options, work, simultaneousStartMs);
}
