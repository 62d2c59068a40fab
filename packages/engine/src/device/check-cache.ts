import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../files.js';

/** null stands for Infinity, which JSON cannot express. */
const Figure = z.number().nullable();

/** The result of comparing a bundle's outputs on a device with those on the CPU. */
const Verdict = z.object({
  rms: Figure,
  largest: Figure,
  ms: z.number(),
  firstMs: z.number(),
  cpuMs: z.number(),
  checkedAt: z.string(),
});
const Verdicts = z.record(z.string(), Verdict);

export type Verdict = z.infer<typeof Verdict>;

const fileIn = (folder: string) => join(folder, 'device-checks.json');

async function read(folder: string): Promise<Record<string, Verdict>> {
  const text = await readFile(fileIn(folder), 'utf8').catch(() => '{}');
  try {
    return Verdicts.parse(JSON.parse(text));
  } catch {
    // A damaged file is ignored: every verdict can be determined again.
    return {};
  }
}

/** Reads the verdict for `key`. Undefined if there is none that can be read. */
export const readVerdict = async (folder: string, key: string): Promise<Verdict | undefined> =>
  (await read(folder))[key];

/** Saves a verdict. If the folder is not writable, the next start checks again. */
export async function saveVerdict(folder: string, key: string, verdict: Verdict): Promise<void> {
  const draft = `${fileIn(folder)}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, `${JSON.stringify({ ...(await read(folder)), [key]: verdict }, null, 2)}\n`);
    await replaceFile(draft, fileIn(folder));
  } catch {
    await rm(draft, { force: true }).catch(() => {});
  }
}
