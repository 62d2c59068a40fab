import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const address = '127.0.53.53';

/**
 * Starts a name server that never responds.
 *
 * @param {string} folder for its resolv.conf
 * @returns `enter`, the words to put before a command that uses this name server. Undefined unless this process is root
 *   on a Linux that allows mount namespaces
 */
export async function silentNameServer(folder) {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  const resolvConf = join(folder, 'resolv.conf');
  writeFileSync(resolvConf, `nameserver ${address}\n`);
  const mount = `mount --bind '${resolvConf}' /etc/resolv.conf && exec "$0" "$@"`;
  const enter = ['unshare', '--mount', 'sh', '-c', mount];
  if (spawnSync('unshare', [...enter.slice(1), 'true']).status !== 0) return undefined;
  const socket = createSocket('udp4').unref();
  socket.bind(53, address);
  try {
    await once(socket, 'listening');
  } catch {
    return undefined;
  }
  return { enter };
}
