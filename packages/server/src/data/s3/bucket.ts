import { createHash } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { S3Location } from '../../base/s3-url.js';
import { problemOf } from './problem.js';
import { StorageUnavailableError } from './unavailable.js';

// The SDK's warning about Node 20 is seven lines of plain text between lines of JSON. docs/decisions.md says what is to come.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

/** Retries follow each other after up to 0.1, 0.2, 0.4 ... s, after SlowDown after up to 0.5, 1, 2 ... s. */
const attempts = 6;
const connectTimeoutMs = 5_000;

/** What an S3-like server that knows no regions is signed for, unless it is told another. */
const anyRegion = 'us-east-1';

/** The region that variables or the profile name, as the SDK reads them, or `fallback`. */
function regionOr(fallback: string): () => Promise<string> {
  let region: Promise<string> | undefined;
  return () => {
    region ??= new S3Client().config.region().catch(() => fallback);
    return region;
  };
}

export interface BucketOptions extends S3Location {
  /** Address of an S3-like server; without it Amazon's, by the region. */
  endpoint?: string | undefined;
  /** The bucket's name goes into the path instead of the host. */
  forcePathStyle: boolean;
  /** How long a connection may be silent before the request is tried again. */
  silenceMs?: number;
  /** Keys of one answer to a listing. */
  pageSize?: number;
}

export interface Content {
  type: string;
  cacheControl?: string;
}

export interface Entry {
  key: string;
  /** Milliseconds since 1970, by the store's clock. */
  modifiedAt: number;
}

/**
 * The keys of one bucket that begin with our prefix, which callers leave out. Reaches nothing before it is used; region and
 * credentials come from where every tool of AWS takes them (variables, profiles, the machine's role).
 *
 * What fails for the moment is tried again within the time that the caller gives; what is still not done then throws
 * `StorageUnavailableError`. A write that was tried twice has written the same bytes under the same key twice.
 */
export class Bucket {
  readonly #client: S3Client;
  readonly #options: BucketOptions;
  /** Address of the bucket, without a slash at the end, as the SDK resolved it for the last listing. */
  #address: string | undefined;

  constructor(options: BucketOptions) {
    const { endpoint, forcePathStyle, silenceMs = 20_000 } = options;
    this.#options = options;
    this.#client = new S3Client({
      ...(endpoint ? { endpoint, region: regionOr(anyRegion) } : {}),
      forcePathStyle,
      maxAttempts: attempts,
      retryMode: 'standard',
      // Our own digest goes with every write, and the signature covers another one of the body. Sums in a trailer, the
      // SDK's default for some calls, are unknown to many servers that speak S3.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // Servers that do not know `Expect` would cost each large write a pause.
      expectContinueHeader: false,
      requestHandler: { connectionTimeout: connectTimeoutMs, socketTimeout: silenceMs },
    });
    this.#client.middlewareStack.add(
      (next) => (args) => {
        // The SDK types a request as unknown; at this step S3's is the HTTP request that will be sent.
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

  /** For people: `the bucket "models" at http://127.0.0.1:9000`. */
  get description(): string {
    const { bucket, endpoint = 'Amazon S3' } = this.#options;
    return `the bucket "${bucket}" at ${endpoint}`;
  }

  /** Stores an object whole or not at all, and replaces one of the same key. */
  async put(key: string, bytes: Uint8Array, content: Content, withinMs: number): Promise<void> {
    const command = new PutObjectCommand({
      ...this.#object(key),
      Body: bytes,
      ContentType: content.type,
      CacheControl: content.cacheControl,
      ChecksumSHA256: createHash('sha256').update(bytes).digest('base64'),
    });
    await this.#within(withinMs, 'writing (s3:PutObject)', (abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
  }

  /** The object's bytes; undefined when there is none. */
  async get(key: string, withinMs: number): Promise<Uint8Array | undefined> {
    return this.#within(withinMs, 'reading (s3:GetObject)', async (abortSignal) => {
      try {
        const { Body } = await this.#client.send(new GetObjectCommand(this.#object(key)), { abortSignal });
        return await Body?.transformToByteArray();
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    });
  }

  /** Whether there is an object, told by a listing. */
  async has(key: string, withinMs: number): Promise<boolean> {
    for await (const entry of this.list(key, withinMs)) if (entry.key === key) return true;
    return false;
  }

  /** Removes an object; there need not be one. */
  async remove(key: string, withinMs: number): Promise<void> {
    // One by one: the call for many wants sums of its body on which servers that speak S3 do not agree.
    const command = new DeleteObjectCommand(this.#object(key));
    await this.#within(withinMs, 'deleting (s3:DeleteObject)', (abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
  }

  /** The objects whose keys begin with `start`, page by page, each page within the given time. */
  async *list(start: string, withinMs: number): AsyncGenerator<Entry> {
    const { bucket, prefix, pageSize } = this.#options;
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix + start,
        ...(pageSize ? { MaxKeys: pageSize } : {}),
        ...(token ? { ContinuationToken: token } : {}),
      });
      const page = await this.#within(withinMs, 'listing (s3:ListBucket)', (abortSignal) =>
        this.#client.send(command, { abortSignal }),
      );
      for (const { Key, LastModified } of page.Contents ?? []) {
        if (Key && LastModified) yield { key: Key.slice(prefix.length), modifiedAt: LastModified.getTime() };
      }
      token = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (token);
  }

  /** Where our prefix begins, for who may read it: no slash at the end. Reaches the store. */
  async address(withinMs: number): Promise<string> {
    const { bucket, prefix } = this.#options;
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: 1 });
    await this.#within(withinMs, 'listing (s3:ListBucket)', (abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
    return `${this.#address}/${prefix}`.replace(/\/$/, '');
  }

  #object(key: string): { Bucket: string; Key: string } {
    const { bucket, prefix } = this.#options;
    return { Bucket: bucket, Key: prefix + key };
  }

  async #within<T>(ms: number, action: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeout = AbortSignal.timeout(ms);
    // The SDK looks at the signal while a request is under way, and not while it pauses before the next.
    const tooLate = new Promise<never>((_, reject) => {
      timeout.addEventListener('abort', () => reject(timeout.reason), { once: true });
    });
    try {
      return await Promise.race([ask(timeout), tooLate]);
    } catch (error) {
      throw new StorageUnavailableError(`Cannot use ${this.description}: ${problemOf(error, action)}`);
    }
  }
}
