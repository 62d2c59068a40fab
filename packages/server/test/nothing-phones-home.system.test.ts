// onnxruntime sends telemetry by default. gen3d turns it off, and no other library may send any. Slow because a matting
// network runs.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { asDataUri } from './ball-photo.js';
import { spawnServer } from './faults/server-process.js';
import { createJob, finishedJob, imageJob, newInstallation, temporaryFolder } from './kit.js';

const photo = new URL('../../../examples/photos/coffee-cup.jpg', import.meta.url);
const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;

/** An environment that records and refuses lookups and connections, if there is a compiler. */
function recordNetwork(folder: string) {
  const file = join(folder, 'network');
  writeFileSync(file, '');
  const env: NodeJS.ProcessEnv = {};
  if (hasCompiler) {
    const library = join(folder, 'record-network.so');
    const source = fileURLToPath(new URL('record-network.c', import.meta.url));
    // The path is compiled in, because children get few variables.
    const record = `-DNETWORK_RECORD=${JSON.stringify(file)}`;
    execFileSync('cc', ['-shared', '-fPIC', record, '-o', library, source, '-ldl']);
    Object.assign(env, { LD_PRELOAD: library });
  }
  return { env, recorded: () => readFileSync(file, 'utf8') };
}

test.runIf(hasCompiler)('the recorder of this test sees lookups, connections and datagrams', () => {
  const { env, recorded } = recordNetwork(temporaryFolder());
  const program = `
    const fail = () => {};
    require('dns').lookup('example.com', fail);
    new (require('dns').Resolver)().resolve4('example.com', fail);
    require('net').connect(80, '192.0.2.1').on('error', fail);`;
  execFileSync(process.execPath, ['-e', program], { env: { ...process.env, ...env } });
  expect(recorded()).toContain('lookup example.com\n');
  expect(recorded()).toContain('connect 192.0.2.1\n');
  // The name server of this machine.
  expect(recorded().match(/^(connect|send) /gm)!.length).toBeGreaterThan(1);
});

test('a server makes a model without a lookup, a connection or a file outside its data directory', async () => {
  const folder = temporaryFolder();
  const home = join(folder, 'home');
  mkdirSync(home);
  const { env, recorded } = recordNetwork(folder);
  // onnxruntime sends no telemetry if a variable says that tests run.
  const nothing = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]));
  const settings = { ...(await newInstallation()), workers: 1 };
  const server = spawnServer(settings, { ...nothing, PATH: process.env.PATH, HOME: home, ...env });
  onTestFinished(() => server.kill());
  // A photo without transparency needs the matting network.
  const id = await createJob(server.call, imageJob(asDataUri(readFileSync(photo), 'image/jpeg')));
  expect((await finishedJob(server.call, id)).status).toBe('SUCCEEDED');
  expect(recorded()).toBe('');
  expect(readdirSync(home, { recursive: true })).toEqual([]);
});
