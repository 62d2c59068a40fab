import { access, constants, stat } from 'node:fs/promises';
import { arch, platform, release, totalmem } from 'node:os';
import { dirname } from 'node:path';
import type { Config } from '@gen3d/server';
import type { Command } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { type InstalledModel, installedModels, noticePath, sizeOf } from '../../bundles/installed-bundles.js';
import { offers } from '../../bundles/offered-bundles.js';
import { chooseKey, chooseServer, healthOf, type ServerOptions } from '../../connection/client.js';
import { emptyProfile, type Profile, profilePath, readProfile } from '../../connection/profile.js';
import { exitCode, Failed, UsageError } from '../../exit/failure.js';
import { serverConfig } from '../../server-options.js';
import { bytes, table } from '../../terminal/format.js';
import { cross, paint, print, printJson, tick } from '../../terminal/terminal.js';
import { describeModel } from '../models.js';
import { deviceTable, type FoundDevice, findDevices } from './devices.js';

/** `problem` is something that keeps gen3d from working here; `note` is worth knowing and no more. */
interface Finding {
  readonly topic: string;
  readonly level: 'ok' | 'note' | 'problem';
  readonly text: string;
}

// One job's peak, and what the API and the system need beside it.
const comfortableMemory = 4 * 1024 ** 3;

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .summary('check this machine: devices, models, licences')
    .description(
      'Check this machine: on which devices the networks run, and why not on the others; which models are there, under which licences.',
    )
    .option('--json', 'print JSON')
    .action((_: unknown, command: Command) => doctor(command));
}

async function doctor(command: Command): Promise<void> {
  const { modelDirs } = await import('@gen3d/server');
  const options: ServerOptions & { json?: boolean } = command.optsWithGlobals();
  const config = await serverConfig(command);
  const models = await installedModels(modelDirs(config));
  const findings = [
    ...machine(),
    await dataDirectory(config.dataDir),
    ...(await server(options)),
    ...modelFindings(models, config),
    ...(await offerFindings(config)),
  ];
  const devices = await findDevices(config);
  findings.push(deviceFinding(devices, config));
  const healthy = findings.every(({ level }) => level !== 'problem');
  if (options.json) {
    printJson({ healthy, version: packageJson.version, findings, devices, models: models.map(describeModel) });
  } else {
    print(report(findings, devices, models));
  }
  if (!healthy) throw new Failed(exitCode.failed);
}

function machine(): Finding[] {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const supported = major > 20 || (major === 20 && minor >= 19);
  // In a container what counts is its limit; 0, or more than there is, stands for none.
  const memory = Math.min(totalmem(), process.constrainedMemory() || totalmem());
  return [
    { topic: 'gen3d', level: 'ok', text: packageJson.version },
    {
      topic: 'node',
      level: supported ? 'ok' : 'problem',
      text: `${process.versions.node}${supported ? '' : ': gen3d needs 20.19 or later'}`,
    },
    { topic: 'system', level: 'ok', text: `${platform()} ${release()} ${arch()}` },
    {
      topic: 'memory',
      level: memory >= comfortableMemory ? 'ok' : 'note',
      text: `${bytes(memory)}, ${bytes(process.availableMemory())} available${memory >= comfortableMemory ? '' : ': 4 GB are comfortable'}`,
    },
  ];
}

/** What `--device` comes to. The table below it has the reasons. */
function deviceFinding(devices: readonly FoundDevice[], { device }: Config): Finding {
  const topic = 'device';
  const chosen = devices.find(({ provider, takenByAuto }) => (device === 'auto' ? takenByAuto : provider === device));
  if (chosen && chosen.problem === undefined) {
    const { provider, adapter } = chosen;
    return { topic, level: 'ok', text: `${provider}, ${adapter?.name}${device === 'auto' ? ' (auto)' : ''}` };
  }
  return { topic, level: 'problem', text: `${device} is configured and cannot be used, see below` };
}

async function dataDirectory(dataDir: string): Promise<Finding> {
  const topic = 'data';
  const there = await stat(dataDir).catch(() => undefined);
  const writable = await access(there ? dataDir : await nearestFolder(dataDir), constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!writable) {
    return {
      topic,
      level: 'problem',
      text: `${dataDir} cannot be written: choose another with --data-dir or GEN3D_DATA_DIR`,
    };
  }
  return { topic, level: 'ok', text: there ? dataDir : `${dataDir} (the first \`gen3d serve\` makes it)` };
}

/** The folder in which the missing ones would be made. */
async function nearestFolder(path: string): Promise<string> {
  const parent = dirname(path);
  if (parent === path) return path;
  return (await stat(parent).catch(() => undefined)) ? parent : nearestFolder(parent);
}

/** The profile as far as it can be used: a damaged one is a finding, and the rest of the machine is looked at all the same. */
async function knownServers(): Promise<{ profile: Profile; finding: Finding }> {
  const topic = 'profile';
  try {
    const profile = await readProfile();
    const known = Object.keys(profile.servers).length;
    const keys = known === 1 ? 'a key for one server' : `keys for ${known} servers`;
    return { profile, finding: { topic, level: 'ok', text: known ? `${profilePath()}, ${keys}` : 'none yet' } };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const text = error instanceof UsageError ? reason : `${profilePath()} cannot be read: ${reason}`;
    return { profile: emptyProfile, finding: { topic, level: 'problem', text } };
  }
}

async function server(options: ServerOptions): Promise<Finding[]> {
  const { profile, finding } = await knownServers();
  const baseUrl = chooseServer(options, profile);
  const hasKey = chooseKey(options, profile, baseUrl) !== undefined;
  const health = await healthOf(baseUrl);
  return [
    finding,
    // Not running is a state, not a fault: doctor is what one runs before the first start.
    health === undefined
      ? { topic: 'server', level: 'note', text: `nothing answers at ${baseUrl}: start it with \`gen3d serve\`` }
      : {
          topic: 'server',
          level: health === 200 ? 'ok' : 'note',
          text: `${baseUrl} answers (health ${health})${hasKey ? '' : ', and there is no key for it: `gen3d login`'}`,
        },
  ];
}

function modelFindings(models: readonly InstalledModel[], { bundle, matte }: Config): Finding[] {
  const found = models.map((model): Finding => {
    const topic = `model ${model.name}`;
    if ('problem' in model) return { topic, level: 'problem', text: model.problem };
    const { kind, title } = model.bundle.manifest;
    const use = [bundle, matte].includes(model.name) ? ', in use' : '';
    return { topic, level: 'ok', text: `${kind}, ${title}, ${bytes(sizeOf(model.bundle))}${use} (${model.directory})` };
  });
  // A path is the engine's to look at, and `inflate` needs no files.
  const missing = [bundle, matte].filter(
    (name) => /^[a-z0-9.-]+$/.test(name) && name !== 'inflate' && !models.some((model) => model.name === name),
  );
  return [
    ...found,
    ...missing.map(
      (name): Finding => ({
        topic: `model ${name}`,
        level: 'problem',
        text: 'is configured and is not on this machine: `gen3d models list` shows those there are',
      }),
    ),
  ];
}

/** Models that could be fetched, each with what it costs. */
async function offerFindings(config: Config): Promise<Finding[]> {
  const topic = 'models';
  try {
    return (await offers(config)).map((text) => ({ topic, level: 'note', text }));
  } catch (error) {
    return [{ topic, level: 'problem', text: error instanceof Error ? error.message : String(error) }];
  }
}

function report(
  findings: readonly Finding[],
  devices: readonly FoundDevice[],
  models: readonly InstalledModel[],
): string {
  const width = Math.max(...findings.map(({ topic }) => topic.length));
  const marks = { ok: tick(), note: paint('yellow', '•'), problem: cross() };
  const lines = findings.map(({ topic, level, text }) => `${marks[level]} ${topic.padEnd(width)}  ${text}`);
  // Whoever uses a model for money must see all three parts of its terms, and where the rest of them is.
  const licences = models.flatMap((model) => {
    if ('problem' in model) return [];
    const { code, weights, trainingData } = model.bundle.manifest.licence;
    const terms = `code: ${code.licence}; weights: ${weights.licence}; training data: ${trainingData.licence}`;
    return [[`  ${model.name}`, model.notice === undefined ? terms : `${terms}. See ${noticePath(model)}`]];
  });
  return [...lines, '', 'Devices', deviceTable(devices), '', 'Licences', table(licences)].join('\n');
}
