import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { StorageUnavailableError } from '../../base/errors.js';
import type { S3Location } from '../../base/s3-url.js';

// Suppresses the SDK's warning about Node 20: seven lines of plain text in a log of JSON lines. See docs/decisions.md.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

/** The SDK waits up to 0.1, 0.2, 0.4 ... s between attempts, and up to 0.5, 1, 2 ... s after SlowDown. */
const maxAttempts = 6;
const connectTimeoutMs = 5_000;

/** The size of the largest object that is read: twice that of the largest model. */
const maxObjectBytes = 128 * 1024 ** 2;

/** Region in the signature for an S3-compatible server without regions, unless another one is set. */
const defaultRegion = 'us-east-1';

/** Reads the region from variables or the profile, as the SDK does. Without one, uses `fallback`. */
function regionOr(fallback: string): () => Promise<string> {
  let region: Promise<string> | undefined;
  return () => {
    region ??= new S3Client().config.region().catch(() => fallback);
    return region;
  };
}

export interface BucketOptions extends S3Location {
  /** Address of an S3-compatible server. Default: Amazon's for the region. */
  endpoint?: string | undefined;
  /** Puts the bucket's name in the path instead of the host name. */
  forcePathStyle: boolean;
  /** How long a connection may be idle before the request is retried. */
  idleTimeoutMs?: number;
  /** Keys per page of a listing. */
  pageSize?: number;
}

export interface Content {
  type: string;
  cacheControl?: string;
}

export interface Entry {
  key: string;
  /** Milliseconds since 1970, on the store's clock. */
  modifiedAt: number;
}

/**
 * Reads and writes a bucket below our prefix, which callers omit. Region and credentials come from the standard AWS
 * sources (variables, profiles, the machine's role). The constructor makes no request.
 *
 * Transient failures are retried within the timeout that the caller gives. After that, methods throw
 * `StorageUnavailableError`. A retried write writes the same bytes under the same key.
 */
export class Bucket {
  readonly #client: S3Client;
  readonly #options: BucketOptions;
  /** Address of the bucket without a trailing slash, as the SDK resolved it for the last listing. */
  #address: string | undefined;

  constructor(options: BucketOptions) {
    const { endpoint, forcePathStyle, idleTimeoutMs = 20_000 } = options;
    this.#options = options;
    this.#client = new S3Client({
      ...(endpoint ? { endpoint, region: regionOr(defaultRegion) } : {}),
      forcePathStyle,
      maxAttempts,
      retryMode: 'standard',
      // Every write includes our digest, and the signature covers the body. The SDK's default for some calls, checksums
      // in a trailer, is unknown to many S3-compatible servers.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // Servers without support for `Expect` would delay each large write.
      expectContinueHeader: false,
      requestHandler: { connectionTimeout: connectTimeoutMs, socketTimeout: idleTimeoutMs },
    });
    this.#client.middlewareStack.add(
      (next) => (args) => {
        // Typed as unknown by the SDK. At this step it is the HTTP request to send.
        const { protocol, hostname, port, path } = args.request as {
          protocol: string;
          hostname: string;
          port?: number;
          path: string;
        };
        this.#address = `${protocol}//${hostname}${port ? `:${port}` : ''}${path.replace(/\/+$/, '')}`;
        return next(args);
      },
      { step: 'finalizeRequest', name: 'addressOfBucket' },
    );
  }

  /** Names the bucket in messages: `the bucket "models" at http://127.0.0.1:9000`. */
  get description(): string {
    const { bucket, endpoint = 'Amazon S3' } = this.#options;
    return `the bucket "${bucket}" at ${endpoint}`;
  }

  /** Stores an object atomically. Replaces an existing one. */
  async put(key: string, bytes: Uint8Array, content: Content, timeoutMs: number): Promise<void> {
    const command = new PutObjectCommand({
      ...this.#object(key),
      Body: bytes,
      ContentType: content.type,
      CacheControl: content.cacheControl,
      ChecksumSHA256: createHash('sha256').update(bytes).digest('base64'),
    });
    await this.#withTimeout(timeoutMs, 'writing (s3:PutObject)', async (abortSignal) => {
      requireS3((await this.#client.send(command, { abortSignal })).ETag !== undefined);
    });
  }

  /** Returns the object's content. Undefined if the object does not exist. */
  get(key: string, timeoutMs: number): Promise<Uint8Array | undefined> {
    return this.#read(key, timeoutMs, ({ Body }) => Body?.transformToByteArray());
  }

  /** Streams the object instead of reading it whole. The timeout applies to the start. */
  open(key: string, timeoutMs: number): Promise<{ bytes: Readable; size: number } | undefined> {
    return this.#read(key, timeoutMs, async ({ Body, ContentLength: size = 0 }) => ({ bytes: Body as Readable, size }));
  }

  /** Copies an object within the bucket. Returns undefined if it does not exist. */
  copy(key: string, newKey: string, timeoutMs: number): Promise<true | undefined> {
    const source = `${this.#options.bucket}/${this.#options.prefix}${key}`;
    const command = new CopyObjectCommand({ ...this.#object(newKey), CopySource: encodeURI(source) });
    return this.#withTimeout(timeoutMs, 'copying (s3:GetObject, s3:PutObject)', async (abortSignal) =>
      ifExists(
        this.#client.send(command, { abortSignal }).then(({ CopyObjectResult }) => {
          requireS3(CopyObjectResult?.ETag !== undefined);
          return true as const;
        }),
      ),
    );
  }

  /** True if an object exists, according to a listing. */
  async has(key: string, timeoutMs: number): Promise<boolean> {
    for await (const entry of this.list(key, timeoutMs)) if (entry.key === key) return true;
    return false;
  }

  async remove(key: string, timeoutMs: number): Promise<void> {
    // One by one: bulk deletion requires body checksums that S3-compatible servers implement differently.
    const command = new DeleteObjectCommand(this.#object(key));
    await this.#withTimeout(timeoutMs, 'deleting (s3:DeleteObject)', (abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
  }

  /**
   * Lists the objects whose keys start with `start`. The timeout applies to each page. Callers delete the listed
   * objects, so other keys, which a faulty server may list, are skipped.
   */
  async *list(start: string, timeoutMs: number): AsyncGenerator<Entry> {
    const { bucket, prefix, pageSize } = this.#options;
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix + start,
        ...(pageSize ? { MaxKeys: pageSize } : {}),
        ...(token ? { ContinuationToken: token } : {}),
      });
      const previous = token;
      const page = await this.#withTimeout(timeoutMs, 'listing (s3:ListBucket)', async (abortSignal) => {
        const { Contents = [], IsTruncated, NextContinuationToken } = await this.#client.send(command, { abortSignal });
        requireS3(IsTruncated !== undefined);
        token = IsTruncated ? NextContinuationToken : undefined;
        requireS3(token === undefined || token !== previous);
        return Contents;
      });
      for (const { Key, LastModified } of page) {
        if (!Key?.startsWith(prefix + start) || !LastModified) continue;
        yield { key: Key.slice(prefix.length), modifiedAt: LastModified.getTime() };
      }
    } while (token);
  }

  /** Returns the URL of our prefix, without a trailing slash. Makes a request. */
  async address(timeoutMs: number): Promise<string> {
    const { bucket, prefix } = this.#options;
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: 1 });
    await this.#withTimeout(timeoutMs, 'listing (s3:ListBucket)', (abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
    return `${this.#address}/${prefix}`.replace(/\/$/, '');
  }

  #read<T>(
    key: string,
    timeoutMs: number,
    use: (object: GetObjectCommandOutput) => Promise<T> | undefined,
  ): Promise<T | undefined> {
    const command = new GetObjectCommand(this.#object(key));
    return this.#withTimeout(timeoutMs, 'reading (s3:GetObject)', async (abortSignal) => {
      const object = await ifExists(this.#client.send(command, { abortSignal }));
      if (!object) return undefined;
      const { ETag, ContentLength, Body } = object;
      // The length is needed for the response to a client.
      const isFromS3 = ETag !== undefined && ContentLength !== undefined && ContentLength <= maxObjectBytes;
      if (!isFromS3) (Body as Readable | undefined)?.destroy();
      requireS3(isFromS3);
      return use(object);
    });
  }

  #object(key: string): { Bucket: string; Key: string } {
    const { bucket, prefix } = this.#options;
    return { Bucket: bucket, Key: prefix + key };
  }

  async #withTimeout<T>(ms: number, action: string, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), ms);
    // The SDK checks the signal during a request, but not during the pause before the next one.
    const timedOut = new Promise<never>((_, reject) => {
      timeout.signal.addEventListener('abort', () => reject(timeout.signal.reason), { once: true });
    });
    try {
      return await Promise.race([send(timeout.signal), timedOut]);
    } catch (error) {
      throw new StorageUnavailableError(`Cannot use ${this.description}: ${reasonOf(error, action)}`);
    } finally {
      // Not `AbortSignal.timeout`, which would also end a stream that is still being read.
      clearTimeout(timer);
    }
  }
}

/** A response has status 200 but is not from an S3 server: for example, it is a proxy's page. */
class ForeignResponseError extends Error {}

function requireS3(isFromS3: boolean): void {
  if (!isFromS3) throw new ForeignResponseError();
}

async function ifExists<T>(response: Promise<T>): Promise<T | undefined> {
  return response.catch((error: unknown) => {
    // The SDK has a class for this error, but does not use it for copies.
    if (error instanceof S3ServiceException && error.name === 'NoSuchKey') return undefined;
    throw error;
  });
}

/** Covers everything that the SDK throws: the service's error responses, Node's errors and its own. */
interface SdkError {
  name?: unknown;
  code?: unknown;
  message?: unknown;
  $metadata?: { httpStatusCode?: number };
}

const refusedCredentials: ReadonlySet<string> = new Set([
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'InvalidToken',
  'ExpiredToken',
  'TokenRefreshRequired',
]);

const wrongRegion: ReadonlySet<string> = new Set([
  'PermanentRedirect',
  'TemporaryRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);

const namesOnly = (text: string) => /^[\w.-]+$/.test(text);

/**
 * Says why a request to the object store failed, as the end of a sentence. Names the setting to change, and quotes
 * nothing of the request, which contains a signature.
 */
function reasonOf(thrown: unknown, action: string): string {
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as SdkError;
  const name = typeof error.name === 'string' ? error.name : '';
  const code = typeof error.code === 'string' ? error.code : '';
  const status = error.$metadata?.httpStatusCode;
  if (name === 'CredentialsProviderError' || name === 'TokenProviderError') {
    return 'there are no credentials for it; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role';
  }
  if (thrown instanceof ForeignResponseError) return 'it does not respond like an S3 server; check GEN3D_S3_ENDPOINT';
  // The SDK gives this error no code.
  if (error.message === 'Region is missing') return 'no region is set for it; set AWS_REGION';
  if (name === 'NoSuchBucket') return 'the bucket does not exist; create it, or choose another one with --assets';
  if (refusedCredentials.has(name)) {
    return `it refuses the credentials (${name}); check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`;
  }
  if (wrongRegion.has(name) || status === 301) return 'the bucket is in another region; set AWS_REGION to that';
  if (name === 'AccessDenied' || status === 403) return `the credentials do not permit ${action}`;
  // The SDK names these errors TimeoutError, too.
  if (code === 'ECONNRESET' || code === 'EPIPE') return `it closed the connection (${code})`;
  if (name === 'TimeoutError' || name === 'AbortError') return 'it did not respond in time';
  if (status !== undefined) return `it returned HTTP ${status}${namesOnly(name) ? ` ${name}` : ''}`;
  if (code) return `it cannot be reached (${code})`;
  // No request was made; the SDK's message names a setting or a profile, and no secret.
  return `the request cannot be sent: ${String(error.message)}`;
}
