import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { promisify } from 'node:util';
import type { AtEnd } from '../kit.js';

/** Another machine, as far as the network goes: a namespace with a cable to this one, and no way to anywhere else. */
export interface Host {
  /** Put before a command, this starts it there. */
  enter: readonly string[];
  /** Where we reach it. */
  address: string;
  /** Where it reaches us. */
  ours: string;
  /** Pulls the cable: nobody is told, packets just do not arrive. */
  cut(): Promise<void>;
  join(): Promise<void>;
}

const ip = (...args: string[]) => promisify(execFile)('ip', args);

/**
 * Makes hosts that last as long as the test. Undefined where this process may not: it must be root (CAP_NET_ADMIN and
 * CAP_SYS_ADMIN) on a Linux with iproute2.
 */
export async function makeHosts(count: number, atEnd: AtEnd): Promise<Host[] | undefined> {
  if (process.platform !== 'linux') return undefined;
  const hosts: Host[] = [];
  // 198.18.0.0/15 is set aside for tests of networks (RFC 2544).
  const net = `198.18.${randomInt(256)}`;
  for (let index = 0; index < count; index++) {
    const name = `gen3d-${process.pid}-${index}`;
    const [outer, inner] = [`g3o${process.pid}-${index}`, `g3i${process.pid}-${index}`];
    const [ours, address] = [`${net}.${4 * index + 1}`, `${net}.${4 * index + 2}`];
    try {
      await ip('netns', 'add', name);
      // Takes the cable with it.
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
