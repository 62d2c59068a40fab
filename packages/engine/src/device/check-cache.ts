import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** JSON has no Infinity, and a device that answers nonsense is that far off. */
const Figure = z.number().nullable();

/** What a comparison of one bundle on one device with the CPU has found. */
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
    // Everything in it can be found out again.
    return {};
  }
}

/** The verdict kept under `key`, if there is one that can be read. */
export const keptVerdict = async (folder: string, key: string): Promise<Verdict | undefined> =>
  (await read(folder))[key];

/** Keeps a verdict. A folder that cannot be written costs the next start another check, and nothing else. */
export async function keepVerdict(folder: string, key: string, verdict: Verdict): Promise<void> {
  const draft = `${fileIn(folder)}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, `${JSON.stringify({ ...(await read(folder)), [key]: verdict }, null, 2)}\n`);
    await rename(draft, fileIn(folder));
  } catch {
    await rm(draft, { force: true }).catch(() => {});
  }
}
