import type { LookupAddress, LookupOptions } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import { Agent, buildConnector } from 'undici';
import { isPublicAddress, literalAddress } from './address.js';

/** The host is an address that users must not make this server connect to, or resolves only to such addresses. */
class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
  readonly code = 'GEN3D_FORBIDDEN_ADDRESS';
  constructor(host: string) {
    super(`${host} is not a public address`);
  }
}

interface GuardOptions {
  /** Whether the URLs of users may lead to addresses that are not public. */
  allowPrivateNetwork: boolean;
  connectTimeoutMs: number;
  /** Name servers, as `ADDRESS:PORT`. Default: the system's. */
  nameServers?: readonly string[];
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Makes the HTTP agent for URLs that users choose: remote images and webhook endpoints. It follows no redirects. */
export function guardedAgent({ allowPrivateNetwork, connectTimeoutMs, nameServers }: GuardOptions): Agent {
  const isAllowed = (address: string) => allowPrivateNetwork || isPublicAddress(address);

  /** Replaces the connection's lookup, so that it dials only the addresses that passed. This defeats DNS rebinding. */
  async function guardedLookup(host: string, { family }: LookupOptions): Promise<LookupAddress[]> {
    const found = await resolveName(host, nameServers);
    const allowed = found.filter(({ address }) => isAllowed(address));
    if (allowed.length === 0) throw new ForbiddenAddressError(host);
    return family === 4 || family === 6 ? allowed.filter((one) => one.family === family) : allowed;
  }

  const lookup = (host: string, options: LookupOptions, callback: LookupCallback) => {
    guardedLookup(host, options).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all || !first) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
  // undici passes these options to net.connect, whose type for `lookup` is more precise than undici's.
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup } as buildConnector.BuildOptions);
  return new Agent({
    connect(options, callback) {
      // A literal address needs no lookup, so the check above does not see it.
      const literal = literalAddress(options.hostname);
      if (literal !== undefined && !isAllowed(literal)) return callback(new ForbiddenAddressError(literal), null);
      connect(options, callback);
    },
  });
}

/** Time limit for one name, across all name servers and attempts. */
const totalTimeoutMs = 5_000;
/** How long to wait for the other address family once one has resolved: a name server may ignore AAAA queries. */
const otherFamilyMs = 250;

const hostsFile =
  process.platform === 'win32'
    ? join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'drivers', 'etc', 'hosts')
    : '/etc/hosts';

/**
 * Finds the addresses of a host name in the hosts file, or else through DNS. IPv4 addresses come first.
 *
 * `dns.lookup` would occupy one of libuv's few threads until the system gives up: two names whose name servers never
 * respond would block every other lookup and file access of the process.
 *
 * @param servers name servers, as `ADDRESS:PORT`; default: the system's
 * @throws {Error} with code ENOTFOUND if the name has no address, and EAI_AGAIN if DNS did not respond
 */
async function resolveName(name: string, servers?: readonly string[]): Promise<LookupAddress[]> {
  const host = name.toLowerCase().replace(/\.$/, '');
  const listed = await listedAddresses(host);
  if (listed.length > 0) return listed;
  if (host === 'localhost' || host.endsWith('.localhost')) return [addressOf('127.0.0.1'), addressOf('::1')];
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers) resolver.setServers(servers);
  const timeout = setTimeout(() => resolver.cancel(), totalTimeoutMs);
  const found: LookupAddress[][] = [[], []];
  const queries = [resolver.resolve4(host), resolver.resolve6(host)].map(async (query, index) => {
    found[index] = (await query).map(addressOf);
  });
  try {
    await Promise.any(queries);
    await Promise.race([Promise.allSettled(queries), pause(otherFamilyMs, undefined, { ref: false })]);
    return found.flat();
  } catch (error) {
    throw asLookupError(host, error as AggregateError);
  } finally {
    clearTimeout(timeout);
    resolver.cancel();
  }
}

const addressOf = (address: string): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 });

async function listedAddresses(host: string): Promise<LookupAddress[]> {
  const text = await readFile(hostsFile, 'utf8').catch(() => '');
  return text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/))
    .filter(([address = '', ...names]) => ipaddr.isValid(address) && names.includes(host))
    .map(([address = '']) => addressOf(address))
    .sort((a, b) => a.family - b.family);
}

/** Has the codes of `dns.lookup`, which callers turn into messages. */
function asLookupError(host: string, { errors }: AggregateError): Error {
  const codes: unknown[] = errors.map(({ code }) => code);
  const unknown = codes.every((code) => code === 'ENOTFOUND' || code === 'ENODATA');
  const code = unknown ? 'ENOTFOUND' : 'EAI_AGAIN';
  return Object.assign(new Error(`${host} cannot be resolved: ${codes.join(', ')}`, { cause: errors[0] }), { code });
}
