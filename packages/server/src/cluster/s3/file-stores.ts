import { ConfigError, isStorageUnavailable } from '../../base/errors.js';
import { randomToken } from '../../base/ids.js';
import type { S3Location } from '../../base/s3-url.js';
import type { FileStoreConfig } from '../../data/installation/file-stores.js';
import { type LocationMarker, type MarkedFiles, ownerIn } from '../markers.js';
import type { Bucket } from './bucket.js';
import { assetsPrefix, S3AssetStore } from './s3-asset-store.js';
import { inputsPrefix, S3InputStore } from './s3-input-store.js';

/** Time limit for each of the five requests of a check. */
const checkTimeoutMs = 15_000;
const markerTimeoutMs = 15_000;
const pingTimeoutMs = 5_000;
/** Prefix of the location markers: one object per database that uses the location. */
const markerPrefix = 'installations/';

/** Opens stores in the bucket at an s3:// URL, without a request to it. */
export async function openBucket(
  url: string,
  location: S3Location,
  { s3Endpoint: endpoint, s3ForcePathStyle }: FileStoreConfig,
): Promise<MarkedFiles> {
  // Loaded only here: the SDK of AWS takes 0.15 s to load, in each process.
  const { Bucket } = await import('./bucket.js');
  // Amazon expects the bucket in the host name; other servers rarely have a host name per bucket.
  const bucket = new Bucket({ ...location, endpoint, forcePathStyle: s3ForcePathStyle ?? endpoint !== undefined });
  return {
    assets: new S3AssetStore(bucket),
    inputs: new S3InputStore(bucket),
    check: () => checkBucket(bucket),
    location: `${url} at ${endpoint ?? 'Amazon S3'}`,
    // Lists instead of reading: without permission to list, Amazon returns 403 when reading a missing object.
    hasMarker: (name) => bucket.has(markerPrefix + name, markerTimeoutMs),
    setMarker: (name, owner) =>
      bucket.put(
        markerPrefix + name,
        Buffer.from(JSON.stringify(owner)),
        { type: 'application/json' },
        markerTimeoutMs,
      ),
    async markers() {
      const found: LocationMarker[] = [];
      for await (const { key } of bucket.list(markerPrefix, markerTimeoutMs)) {
        const path = `${url.replace(/\/$/, '')}/${key}`;
        const content = await bucket.get(key, markerTimeoutMs);
        if (content) found.push({ name: key.slice(markerPrefix.length), path, owner: ownerIn(content) });
      }
      return found;
    },
    ping: async () => void (await bucket.address(pingTimeoutMs)),
  };
}

/** Tries all operations that jobs need, so that missing permissions are reported at the start. */
async function checkBucket(bucket: Bucket): Promise<string> {
  // If left behind, the sweep removes it as an image that no job needs.
  const key = `${inputsPrefix}check.${randomToken(22)}`;
  try {
    const address = await bucket.address(checkTimeoutMs);
    await bucket.put(key, Buffer.from('gen3d'), { type: 'text/plain' }, checkTimeoutMs);
    const read = await bucket.get(key, checkTimeoutMs);
    await bucket.remove(key, checkTimeoutMs);
    if (!read || Buffer.from(read).toString() !== 'gen3d') {
      throw new ConfigError(`Cannot use ${bucket.description}: it returns other content than was stored`);
    }
    return `${address}/${assetsPrefix.slice(0, -1)}`;
  } catch (error) {
    if (isStorageUnavailable(error)) throw new ConfigError(error.message, { cause: error });
    throw error;
  }
}
