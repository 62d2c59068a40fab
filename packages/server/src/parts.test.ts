import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { silent, temporaryFolder } from '../test/kit.js';
import { httpManifest } from '../test/model-server-kit.js';
import { loadConfig, settings } from './config.js';
import { listen, Parts, unknownVariables, warnOfMissingMatte } from './parts.js';

test('parts are stopped once, in reverse order, each after the one that needs it', async () => {
  const events: string[] = [];
  const part = (name: string) => ({
    async stop(graceMs: number) {
      events.push(`${name} stops within ${graceMs}`);
      await new Promise(setImmediate);
      events.push(`${name} stopped`);
    },
  });
  const parts = new Parts(silent);
  await parts.start(part('database'));
  await parts.start(Promise.resolve(part('server')));
  await expect(parts.start(Promise.reject(new Error('no port')))).rejects.toThrow('no port');
  await parts.stop({ graceMs: 5 });
  await parts.stop({ graceMs: 5 });
  expect(events).toEqual(['server stops within 5', 'server stopped', 'database stops within 5', 'database stopped']);
});

/** The number of connections that wait to be accepted. */
function waitingOn(port: number): number {
  const listening = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, '0')} \\S+ 0A \\S+:([0-9A-F]+)`);
  return Number.parseInt(listening.exec(readFileSync('/proc/net/tcp', 'utf8'))![1]!, 16);
}

test.runIf(process.platform === 'linux')('1,000 connections that come at once all wait to be accepted', async () => {
  const server = createServer();
  const port = await listen(server, '127.0.0.1', 0);
  const sockets = Array.from({ length: 1_000 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  // They connect in the next tick, before the server can accept any.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const most = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  expect(waitingOn(port)).toBe(Math.min(1_000, most + 1));
});

test('a misspelled variable is named, with the similar one that exists', () => {
  expect(unknownVariables({ GEN3D_ASETS: 's3://models', GEN3D_DATABASE_URL: 'postgres://db/gen3d' })).toEqual([
    'GEN3D_ASETS is not a setting and is ignored. Did you mean GEN3D_ASSETS?',
    'GEN3D_DATABASE_URL is not a setting and is ignored. Did you mean GEN3D_DATABASE?',
  ]);
  expect(unknownVariables({ GEN3D_QUANTUM_FLUX: '1' })).toEqual([
    'GEN3D_QUANTUM_FLUX is not a setting and is ignored. See docs/configuration.md',
  ]);
});

test('known variables and those of Kubernetes cause no warning', () => {
  const others = ['API_KEY', 'BASE_URL', 'CONFIG', 'CONFIG_DIR', 'WEBHOOK_SECRET'];
  const kubernetes = ['SERVICE_HOST', 'SERVICE_PORT_HTTP', 'API_PORT', 'API_PORT_8787_TCP_ADDR'];
  const names = [
    ...settings.map(({ variable }) => variable),
    ...[...others, ...kubernetes].map((name) => `GEN3D_${name}`),
  ];
  expect(unknownVariables(Object.fromEntries(['PATH', ...names].map((name) => [name, '1'])))).toEqual([]);
});

test('a damaged background remover is named at the start, unless a model server replaces it', async () => {
  const folder = temporaryFolder();
  const bundle = async (name: string, manifest: object) => {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'manifest.json'), JSON.stringify(manifest));
  };
  await bundle('remover', {});
  await bundle('outside', httpManifest('http://127.0.0.1:9/generate'));
  const warnings = async (name: string) => {
    const warn = vi.fn();
    const config = loadConfig({ matte: 'remover', bundle: name }, { GEN3D_DATA_DIR: folder, GEN3D_MODELS_DIR: folder });
    await warnOfMissingMatte(config, { warn } as unknown as Logger);
    return warn.mock.calls.flat();
  };
  const sentence = /^Only photos with a transparent background become models\. .*remover.* is not a manifest/;
  expect(await warnings('inflate')).toEqual([expect.stringMatching(sentence)]);
  expect(await warnings('outside')).toEqual([]);
});
