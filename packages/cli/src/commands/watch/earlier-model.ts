import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Task } from '@gen3d/sdk';
import { nextCommand } from '../../terminal/next-command.js';
import { shownName } from '../../terminal/terminal.js';

/**
 * Says when and by which bundle a model was made, if the photo already had a job. The server may have another bundle now,
 * which it does not tell.
 */
export async function describeEarlierModel({ task_id, finished_at }: Task, model: string): Promise<string> {
  const bundles = bundlesOf(await readFile(model));
  const maker = bundles.length > 0 ? `, by ${bundles.join(' and ')}` : '';
  const remedy = `delete ${shownName(basename(model))} and run \`${nextCommand(`delete ${task_id}`)}\``;
  return `This photo had a job: its model was made on ${finished_at?.slice(0, 10)}${maker}. To make it again, ${remedy}`;
}

/** Reads the names of the bundles from the JSON of a GLB. Empty for models of other services. */
function bundlesOf(glb: Buffer): string[] {
  const { asset } = JSON.parse(glb.toString('utf8', 20, 20 + glb.readUInt32LE(12))) as {
    asset?: { extras?: { bundles?: { name: string }[] } };
  };
  return asset?.extras?.bundles?.map(({ name }) => name) ?? [];
}
