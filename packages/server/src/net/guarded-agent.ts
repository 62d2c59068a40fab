import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { Agent, buildConnector } from 'undici';
import { isPublicAddress, literalAddress } from './address.js';

/** A host that is, or resolves only to, addresses nobody outside may make this server talk to. */
export class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
  readonly code = 'GEN3D_FORBIDDEN_ADDRESS';
  constructor(host: string) {
    super(`${host} is not a public address`);
  }
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/**
 * The check sits in the lookup of the very connection it guards: the addresses that passed are the ones dialled, so a name
 * that resolves differently a moment later (DNS rebinding) gains nothing.
 */
function publicLookup(host: string, options: LookupOptions, callback: LookupCallback): void {
  lookup(host, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, []);
    const allowed = addresses.filter(({ address }) => isPublicAddress(address));
    const [first] = allowed;
    if (!first) return callback(new ForbiddenAddressError(host), []);
    if (options.all) callback(null, allowed);
    else callback(null, first.address, first.family);
  });
}

export interface GuardOptions {
  allowPrivateNetwork: boolean;
  connectTimeoutMs: number;
}

/** The HTTP agent for every address that a user chose: remote photos and webhook endpoints. Follows no redirects. */
export function guardedAgent({ allowPrivateNetwork, connectTimeoutMs }: GuardOptions): Agent {
  const timeouts = { timeout: connectTimeoutMs };
  if (allowPrivateNetwork) return new Agent({ connect: timeouts });
  // undici hands its connect options on to net.connect, whose type says more about `lookup` than undici's.
  const connect = buildConnector({ ...timeouts, lookup: publicLookup } as buildConnector.BuildOptions);
  return new Agent({
    connect(options, callback) {
      // An address needs no lookup, so it would slip past the one above.
      const literal = literalAddress(options.hostname);
      if (literal !== undefined && !isPublicAddress(literal)) return callback(new ForbiddenAddressError(literal), null);
      connect(options, callback);
    },
  });
}
