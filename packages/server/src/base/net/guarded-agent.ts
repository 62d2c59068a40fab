import type { LookupAddress, LookupOptions } from 'node:dns';
import { Agent, buildConnector } from 'undici';
import { isAllowedTarget, literalAddress, type TargetRules } from './address.js';
import { resolveName } from './resolve-name.js';

/** The host is an address that users must not make this server connect to, or resolves only to such addresses. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
  readonly code = 'GEN3D_FORBIDDEN_ADDRESS';
  constructor(host: string) {
    super(`${host} is not a public address, or the operator of the server denies it`);
  }
}

export interface GuardOptions extends TargetRules {
  connectTimeoutMs: number;
  /** Name servers, as `ADDRESS:PORT`. Default: the system's. */
  nameServers?: readonly string[];
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** Makes the HTTP agent for URLs that users choose: remote images and webhook endpoints. It follows no redirects. */
export function guardedAgent({ connectTimeoutMs, nameServers, ...rules }: GuardOptions): Agent {
  const isAllowed = (address: string) => isAllowedTarget(address, rules);

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
