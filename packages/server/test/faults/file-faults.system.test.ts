// Faults by enumeration, as SQLite tests itself: the n-th change of a file fails, is torn, is delayed or is the last one
// before a crash, for the n of a whole life of a job and of a migration; and the clock jumps at its n-th reading. The
// promises of the crash test hold. `npm run test:soak` takes every n.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { buildSources } from '../../../../scripts/bench/sources.mjs';
import { temporaryFolder } from '../kit.js';
import type { Kind, Mode } from './file-faults-program.js';

const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;
if (!hasCompiler) console.warn('file faults: skipped, because this machine has no C compiler, or is not Linux');

interface Run {
  kind: Kind;
  mode: Mode;
  nth: number;
}

const modes: Mode[] = ['fail', 'crash', 'stop', 'tear', 'delay', 'twice', 'forward', 'back'];
/** The part of the faults that a run without `soak` tries. The seed of the run decides which. */
const stride = inject('soak') ? 1 : 14;

test.runIf(hasCompiler)(
  'a fault at any change of a file, or a jump of the clock, breaks no promise',
  {
    timeout: 1_200_000,
  },
  async ({ onTestFinished }) => {
    const { code } = await buildSources(onTestFinished, 'server', { program: 'test/faults/file-faults-program.ts' });
    const library = join(temporaryFolder(), 'file-faults.so');
    const source = fileURLToPath(new URL('file-faults.c', import.meta.url));
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']);
    const results = async (plan: Run[]) => {
      const folder = temporaryFolder();
      const control = join(folder, 'control');
      writeFileSync(control, Buffer.alloc(16));
      const env = { LD_PRELOAD: library, FAULTS_BELOW: join(folder, 'data'), FAULTS_CONTROL: control };
      const args = [join(code, 'program.js'), folder, control, JSON.stringify(plan)];
      await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } });
      const lines = readFileSync(join(folder, 'report'), 'utf8').split('\n');
      return lines.map((line) => JSON.parse(line) as Run & { result: number | string });
    };
    const never = 1_000_000;
    const totals = await results(
      (['migration', 'job'] as const).flatMap((kind) =>
        (['none', 'forward'] as const).map((mode) => ({ kind, mode, nth: never })),
      ),
    );
    const plan = totals.flatMap(({ kind, mode, result }) => {
      expect(result).toBeTypeOf('number');
      const those = modes
        .filter((one) => (one === 'forward' || one === 'back') === (mode === 'forward'))
        // The migration is followed by the creation of an account, whose repetition is refused if it was committed.
        .filter((one) => one !== 'twice' || kind === 'job');
      return those.flatMap((one) =>
        Array.from({ length: Number(result) }, (_, i) => ({ kind, mode: one, nth: i + 1 })),
      );
    });
    const chosen = plan.filter((_, index) => (index + inject('seed')) % stride === 0);
    const all = await results(chosen);
    console.log(`file faults: ${all.length} of ${plan.length} faults`);
    expect(all.filter(({ result }) => typeof result === 'string')).toEqual([]);
  },
);
