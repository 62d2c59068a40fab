import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { promisify } from 'node:util';
import type { AtEnd } from '../kit.js';

/** Another machine for the network: a namespace with a connection to this one and to nothing else. */
export interface Host {
  /** Prefix of a command, which starts it there. */
  enter: readonly string[];
  /** The address of the host. */
  address: string;
  /** The address of this machine for the host. */
  ours: string;
  /** Disconnects it. Packets are lost without an error. */
  cut(): Promise<void>;
  join(): Promise<void>;
}

const ip = (...args: string[]) => promisify(execFile)('ip', args);

/**
 * Creates hosts for the duration of the test. That takes root (CAP_NET_ADMIN and CAP_SYS_ADMIN) on Linux with iproute2;
 * otherwise, returns undefined.
 */
export async function makeHosts(count: number, atEnd: AtEnd): Promise<Host[] | undefined> {
  if (process.platform !== 'linux') return undefined;
  const hosts: Host[] = [];
  // 198.18.0.0/15 is reserved for network tests (RFC 2544).
  const net = `198.18.${randomInt(256)}`;
  for (let index = 0; index < count; index++) {
    const name = `gen3d-${process.pid}-${index}`;
    const [outer, inner] = [`g3o${process.pid}-${index}`, `g3i${process.pid}-${index}`];
    const [ours, address] = [`${net}.${4 * index + 1}`, `${net}.${4 * index + 2}`];
    try {
      await ip('netns', 'add', name);
      // This also removes the connection.
      atEnd(async () => void (await ip('netns', 'delete', name)));
      await ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', name);
      await ip('address', 'add', `${ours}/30`, 'dev', outer);
      await ip('-n', name, 'address', 'add', `${address}/30`, 'dev', inner);
      await ip('link', 'set', outer, 'up');
      for (const link of ['lo', inner]) await ip('-n', name, 'link', 'set', link, 'up');
    } catch {
      return undefined;
    }
    const set = async (state: 'up' | 'down') => void (await ip('link', 'set', outer, state));
    const enter = ['ip', 'netns', 'exec', name];
    hosts.push({ enter, address, ours, cut: () => set('down'), join: () => set('up') });
  }
  return hosts;
}
