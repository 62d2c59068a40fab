import type { LookupAddress, LookupOptions } from 'node:dns';
import { Agent, buildConnector } from 'undici';
import { isPublicAddress, literalAddress } from './address.js';
import { resolveName } from './resolve-name.js';

/** A host that is, or resolves only to, addresses nobody outside may make this server talk to. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
  readonly code = 'GEN3D_FORBIDDEN_ADDRESS';
  constructor(host: string) {
    super(`${host} is not a public address`);
  }
}

export interface GuardOptions {
  allowPrivateNetwork: boolean;
  connectTimeoutMs: number;
  /** Name servers, as `ADDRESS:PORT`. Default: the system's. */
  nameServers?: readonly string[];
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** The HTTP agent for every address that a user chose: remote photos and webhook endpoints. Follows no redirects. */
export function guardedAgent({ allowPrivateNetwork, connectTimeoutMs, nameServers }: GuardOptions): Agent {
  const isAllowed = (address: string) => allowPrivateNetwork || isPublicAddress(address);

  /**
   * The check is part of the lookup of the connection it guards: the addresses that passed are the ones dialed, so a name
   * that resolves differently a moment later (DNS rebinding) gains nothing.
   */
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
  // undici hands its connect options on to net.connect, whose type says more about `lookup` than undici's.
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup } as buildConnector.BuildOptions);
  return new Agent({
    connect(options, callback) {
      // An address needs no lookup, so it would slip past the one above.
      const literal = literalAddress(options.hostname);
      if (literal !== undefined && !isAllowed(literal)) return callback(new ForbiddenAddressError(literal), null);
      connect(options, callback);
    },
  });
}
