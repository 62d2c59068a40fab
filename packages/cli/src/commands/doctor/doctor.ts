import { access, constants, stat } from 'node:fs/promises';
import { arch, platform, release } from 'node:os';
import { dirname, join } from 'node:path';
import type { InstalledBundle } from '@gen3d/engine/bundles';
import type { Config } from '@gen3d/server';
import type { Command } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { describeBundle } from '../../bundles/describe-bundle.js';
import { chooseKey, chooseServer, healthOf, type ServerOptions } from '../../connection/client.js';
import { emptyProfile, type Profile, profilePath, readProfile } from '../../connection/profile.js';
import { errorMessage, exitCode, Failed, UsageError } from '../../exit/failure.js';
import { serverConfig } from '../../server-options.js';
import { bytes, count, table } from '../../terminal/format.js';
import { cross, paint, print, printJson, tick } from '../../terminal/terminal.js';
import { deviceTable, type FoundDevice, findDevices } from './devices.js';
import {
  diskFinding,
  type Finding,
  memoryFinding,
  nativeFindings,
  note,
  ok,
  problem,
  sandboxFinding,
  storageFindings,
} from './installation.js';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .summary('check installation, devices, bundles and licenses')
    .description(
      'Check this machine: whether gen3d is installed completely, which devices can run the networks, and which bundles are installed under which licenses.',
    )
    .option('--json', 'print JSON')
    .action((_: unknown, command: Command) => doctor(command));
}

async function doctor(command: Command): Promise<void> {
  const { installedBundles, modelDirs } = await import('@gen3d/engine/bundles');
  const options: ServerOptions & { json?: boolean } = command.optsWithGlobals();
  const config = await serverConfig(command);
  const bundles = await installedBundles(modelDirs(config));
  const native = await nativeFindings();
  const isComplete = native.every(({ level }) => level !== 'problem');
  const folder = await nearestFolder(config.dataDir);
  const findings = [
    ...machineFindings(),
    ...native,
    await dataDirectoryFinding(config.dataDir),
    ...(isComplete ? await storageFindings(config, folder) : []),
    await diskFinding(folder),
    await sandboxFinding(config),
    ...(await serverFindings(options)),
    ...(await bundleFindings(bundles, config)),
  ];
  // The devices can be tested only with all native parts.
  const devices = isComplete ? await findDevices(config) : [];
  if (devices.length > 0) findings.push(deviceFinding(devices, config));
  if (isComplete) findings.push(...(await catalogFindings(config)), ...(await modelServerFindings(config)));
  const healthy = findings.every(({ level }) => level !== 'problem');
  if (options.json) {
    const models = await Promise.all(bundles.map(describeBundle));
    printJson({ healthy, version: packageJson.version, findings, devices, models });
  } else {
    print(report(findings, devices.length > 0 ? deviceTable(devices, config.device) : undefined, bundles));
  }
  if (!healthy) throw new Failed(exitCode.failed);
}

function machineFindings(): Finding[] {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const supported = major > 20 || (major === 20 && minor >= 19);
  return [
    ok('gen3d', packageJson.version),
    supported
      ? ok('node', process.versions.node)
      : problem('node', `${process.versions.node}. gen3d requires 20.19 or later`),
    ok('system', `${platform()} ${release()} ${arch()}`),
    memoryFinding(),
  ];
}

/** Reports on the device that `--device` selects. The table shows the problems of the others. */
function deviceFinding(devices: readonly FoundDevice[], { device }: Config): Finding {
  const chosen = devices.find(({ provider, takenByAuto }) => (device === 'auto' ? takenByAuto : provider === device));
  if (chosen && chosen.problem === undefined) {
    const { provider, adapter } = chosen;
    return ok('device', `${provider}, ${adapter?.name}${device === 'auto' ? ' (auto)' : ''}`);
  }
  return problem('device', `The configured device ${device} cannot be used. See below`);
}

async function dataDirectoryFinding(dataDir: string): Promise<Finding> {
  const exists = (await stat(dataDir).catch(() => undefined)) !== undefined;
  try {
    await access(await nearestFolder(dataDir), constants.W_OK);
  } catch {
    return problem('data', `Cannot write to ${dataDir}. Choose another directory with --data-dir or GEN3D_DATA_DIR`);
  }
  return ok('data', exists ? dataDir : `${dataDir} (created by the first \`gen3d serve\`)`);
}

/** Returns the path, or its nearest parent directory that exists. */
async function nearestFolder(path: string): Promise<string> {
  const parent = dirname(path);
  if (parent === path) return path;
  return (await stat(path).catch(() => undefined)) ? path : nearestFolder(parent);
}

/** Reads the profile. If that fails, reports it and returns an empty profile, so that the other checks still run. */
async function profileAndFinding(): Promise<{ profile: Profile; finding: Finding }> {
  try {
    const profile = await readProfile();
    const servers = Object.values(profile.servers).filter(({ apiKey }) => apiKey !== undefined).length;
    const finding =
      servers > 0
        ? ok('profile', `${profilePath()}, keys for ${count(servers, 'server')}`)
        : note('profile', 'no API keys yet. `gen3d serve` and `gen3d login` store them');
    return { profile, finding };
  } catch (error) {
    const reason = errorMessage(error);
    const text = error instanceof UsageError ? reason : `Cannot read ${profilePath()}: ${reason}`;
    return { profile: emptyProfile, finding: problem('profile', text) };
  }
}

async function serverFindings(options: ServerOptions): Promise<Finding[]> {
  const { profile, finding } = await profileAndFinding();
  const baseUrl = chooseServer(options, profile);
  const health = await healthOf(baseUrl);
  // This is only a note, because users run doctor before the first start.
  if (typeof health !== 'number') {
    return [finding, note('server', `no response from ${baseUrl}. Start it with \`gen3d serve\``)];
  }
  const answer = `${baseUrl} responds (health check: ${health})`;
  if (chooseKey(options, profile, baseUrl) === undefined) {
    return [finding, note('server', `${answer}, but no API key is stored for it. Run \`gen3d login\``)];
  }
  return [finding, health === 200 ? ok('server', answer) : note('server', answer)];
}

async function bundleFindings(bundles: readonly InstalledBundle[], { bundle, matte }: Config): Promise<Finding[]> {
  const { builtInBundle, installHint, isPath, sizeOf } = await import('@gen3d/engine/bundles');
  const found = bundles.map((installed) => {
    const topic = `model ${installed.name}`;
    if ('problem' in installed) return problem(topic, installed.problem);
    const { kind, title } = installed.bundle.manifest;
    const use = [bundle, matte].includes(installed.name) ? ', in use' : '';
    const size = bytes(sizeOf(installed.bundle));
    return ok(topic, `${kind}, ${title}, ${size}${use}`);
  });
  // The engine checks paths.
  const known = [builtInBundle, ...bundles.map(({ name }) => name)];
  const missing = [bundle, matte].filter((name) => !isPath(name) && !known.includes(name));
  return [
    ...found,
    ...missing.map((name) => {
      const hint = installHint(name);
      const remedy = hint ?? '`gen3d models list` shows those that are';
      const topic = `model ${name}`;
      // Without this package, gen3d still makes models of cutouts.
      if (hint && name === matte) {
        return note(topic, `not installed, so photos must have a transparent background. ${remedy}`);
      }
      return problem(topic, `configured, but not installed. ${remedy}`);
    }),
  ];
}

/** Asks the server of a bundle of the kind `http` whether it accepts requests. */
async function modelServerFindings(config: Config): Promise<Finding[]> {
  const { findBundle } = await import('@gen3d/engine');
  const { modelDirs } = await import('@gen3d/engine/bundles');
  const { probeModelServer } = await import('@gen3d/server');
  // A bundle that cannot be loaded is reported separately.
  const { manifest } = (await findBundle(config.bundle, modelDirs(config)).catch(() => undefined)) ?? {};
  if (manifest?.kind !== 'http') return [];
  const reason = await probeModelServer(manifest);
  return [reason === undefined ? ok('model server', manifest.url) : problem('model server', reason)];
}

/** Reports the bundles of the catalog, and which of them this machine cannot run. */
async function catalogFindings(config: Config): Promise<Finding[]> {
  const { modelDirs } = await import('@gen3d/engine/bundles');
  const { readCatalogs, requirementProblem } = await import('@gen3d/weights/offers');
  const { device } = config;
  try {
    const findings = [note('models', '`gen3d models list` shows larger bundles, and docs/bundles.md compares them')];
    for (const { manifest, skeleton } of await readCatalogs(modelDirs(config))) {
      const text = skeleton && (await requirementProblem(manifest, skeleton, { device, precision: 'fp16' }));
      if (text) findings.push(note(`model ${manifest.name}`, text));
    }
    return findings;
  } catch (error) {
    return [problem('models', errorMessage(error))];
  }
}

function report(
  findings: readonly Finding[],
  devices: string | undefined,
  bundles: readonly InstalledBundle[],
): string {
  const width = Math.max(...findings.map(({ topic }) => topic.length));
  const symbols = { ok: tick(), note: paint('yellow', '•'), problem: cross() };
  const lines = findings.map(({ topic, level, text }) => `${symbols[level]} ${topic.padEnd(width)}  ${text}`);
  // Commercial users need all three licenses, and the notice.
  const licenses = bundles.flatMap((installed) => {
    if ('problem' in installed) return [];
    const { code, weights, trainingData } = installed.bundle.manifest.license;
    const terms = `code: ${code.license}; weights: ${weights.license}; training data: ${trainingData.license}`;
    return [
      [
        `  ${installed.name}`,
        installed.notice === undefined ? terms : `${terms}. See ${join(installed.directory, 'NOTICE.md')}`,
      ],
    ];
  });
  const deviceLines = devices === undefined ? [] : ['', 'Devices', devices];
  return [...lines, ...deviceLines, '', 'Licenses', table(licenses)].join('\n');
}
