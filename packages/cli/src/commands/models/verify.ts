import type { Bundle } from '@gen3d/engine';
import type { InstalledBundle } from '@gen3d/engine/bundles';
import type { Config } from '@gen3d/server';
import type { Command } from 'commander';
import { errorMessage, exitCode, Failed } from '../../exit/failure.js';
import { serverConfig } from '../../server-options.js';
import { cross, printJson, say, tick } from '../../terminal/terminal.js';
import { requireInstalled } from './require-installed.js';

export function addVerify(models: Command): void {
  models
    .command('verify')
    .summary('compare all files and networks with the manifest')
    .description(
      'Compare all files and networks with the manifest. With --self-test, also run the networks on the device that\n' +
        'GEN3D_DEVICE names (default: the first GPU that works), and list the checks that this machine cannot run.',
    )
    .argument('[bundle...]', 'names of installed bundles; default: all')
    .option('--self-test', 'also run the networks, to check a bundle on a new machine')
    .action((names: string[], options: VerifyOptions, command: Command) => verify(names, options, command));
}

interface VerifyOptions {
  readonly selfTest?: boolean;
}

async function verify(names: readonly string[], { selfTest = false }: VerifyOptions, command: Command): Promise<void> {
  const { installedBundles, modelDirs } = await import('@gen3d/engine/bundles');
  const config = await serverConfig(command);
  const bundles = await installedBundles(modelDirs(config));
  for (const name of names) await requireInstalled(name, bundles, config);
  const chosen = names.length === 0 ? bundles : bundles.filter(({ name }) => names.includes(name));
  const results: Array<{ name: string; problem?: string; selfTest?: TestedCheck[] }> = [];
  for (const installed of chosen) {
    const { name } = installed;
    const problem = await problemOf(installed);
    say(problem === undefined ? `${tick()} ${name}` : `${cross()} ${name}  ${problem}`);
    const tested = selfTest && !('problem' in installed) && problem === undefined;
    results.push({
      name,
      ...(problem !== undefined && { problem }),
      ...(tested && { selfTest: await runSelfTests(installed.bundle, config.device) }),
    });
  }
  if (command.optsWithGlobals().json === true) printJson(results);
  const failed = results.some(({ problem, selfTest }) => problem !== undefined || selfTest?.some(isFailed));
  if (failed) throw new Failed(exitCode.failed);
}

interface TestedCheck {
  readonly check: string;
  /** Absent if the check was skipped. */
  readonly passed?: boolean;
  readonly detail: string;
}

const isFailed = ({ passed }: TestedCheck): boolean => passed === false;

async function runSelfTests(bundle: Bundle, device: Config['device']): Promise<TestedCheck[]> {
  const { selfTests } = await import('@gen3d/engine');
  const results: TestedCheck[] = [];
  for (const { name: check, skipped, run } of (await selfTests(bundle, device)).tests) {
    if (skipped !== undefined) {
      results.push({ check, detail: skipped });
      say(`  - ${check}: not run, ${skipped}`);
      continue;
    }
    const { passed, detail } = await run().catch((error: unknown) => ({
      passed: false,
      detail: errorMessage(error),
    }));
    results.push({ check, passed, detail });
    say(`  ${passed ? tick() : cross()} ${check}: ${detail}`);
  }
  return results;
}

async function problemOf(installed: InstalledBundle): Promise<string | undefined> {
  if ('problem' in installed) return installed.problem;
  const { BundleError, checkBundle, verifyBundle } = await import('@gen3d/engine');
  try {
    await verifyBundle(installed.bundle);
    await checkBundle(installed.bundle);
    return undefined;
  } catch (error) {
    if (error instanceof BundleError) return error.message;
    throw error;
  }
}
