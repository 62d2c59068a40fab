import { createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { meshDefaults } from '@gen3d/engine/bundles';
import { EngineError } from '@gen3d/engine/errors';
import { ExitError } from '@gen3d/rpc';
import { quoted } from '@gen3d/schema';
import type { Logger } from 'pino';
import { Agent, type Dispatcher, request } from 'undici';
import { errorMessage } from '../../base/errors.js';
import { guardedAgent } from '../../base/net/guarded-agent.js';
import { readBody } from '../../base/net/read-body.js';
import { encodeImage } from '../../data/inputs/encode-image.js';
import type { ModelServerSettings } from '../../work/children.js';
import { checked, Made, type MakeOptions, type ModelMaker, type SidePhoto } from '../../work/runner/runner-protocol.js';
import { AttemptFailure, TemporaryFailure } from '../../work/stage-failures.js';
import { ModelFolders, removeLeftFolders } from './model-folders.js';
import { ModelReader, modelFiles } from './model-reader.js';
import { type ModelRequest, modelRequest } from './model-request.js';
import { errorWords, ModelResponse, parseJson } from './model-response.js';

const mebibyte = 1024 ** 2;
const connectTimeoutMs = 15_000;
const probeTimeoutMs = 10_000;
/** TRELLIS.2 returns 180 MB for its default of 5.5 million triangles. LocalAI's limit for its own files is the same. */
export const maxReceivedBytes = 512 * mebibyte;
const maxErrorBytes = 64 * 1024;
/** A response with a URL is shorter. */
const maxUrlBytes = 64 * 1024;

/** An operator can resolve these: the server is not running, overloaded, elsewhere, or needs a key. */
const temporaryCodes =
  /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/;
const temporaryStatuses = new Set([401, 403, 409, 429, 503, 504]);

/** A proxy returns 502 without words while the server is not running; Lemonade with words when its backend crashed. */
const isTemporary = (status: number, words: string) =>
  temporaryStatuses.has(status) || (status === 502 && words === '');

/**
 * Neither waiting nor another photo helps: the server has no such address or model, its backend makes no models (501 of
 * LocalAI), it redirects, or it makes models in the background (202).
 */
const isUnsuitable = (status: number) => status < 400 || [404, 405, 501].includes(status);

/** Whether the server closed the connection instead of responding. */
const isLost = (error: unknown) => /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test((error as { code?: string }).code ?? '');

export interface ModelServerOptions extends ModelServerSettings {
  /** Default: `maxReceivedBytes`. */
  maxBytes?: number;
}

const refused = (message: string, cause?: unknown) => new EngineError('inference_failed', message, { cause });

/**
 * Makes models on a server that the operator runs, named by a bundle of the kind `http`: docs/bundles.md. The operator
 * chose the server, so it may be at any address. The file that it returns is not trusted: it is streamed to disk, and
 * read, simplified, validated and drawn in a process of its own.
 *
 * While the server is unavailable, the jobs wait and lose no attempt. A request that fails in any other way, or takes
 * too long, counts as an attempt, unless the server refuses the photo or cannot make models from it: then the job
 * fails.
 */
export class ModelServer implements ModelMaker {
  readonly pid = process.pid;
  readonly ended: Promise<ExitError>;
  #end: (exit: ExitError) => void = () => {};
  /** How many photos the server takes at a time. */
  readonly concurrency: number;
  readonly #options: ModelServerOptions;
  readonly #endpoint: URL;
  readonly #reader = new ModelReader();
  readonly #folders = new ModelFolders();
  // The server responds after minutes. Connections are not reused, because it may have closed them in the meantime.
  readonly #agent = new Agent({ connect: { timeout: connectTimeoutMs }, headersTimeout: 0, pipelining: 0 });
  readonly #guarded: Agent;

  constructor(options: ModelServerOptions) {
    this.#options = options;
    this.concurrency = options.manifest.concurrency;
    this.#endpoint = new URL(options.manifest.url);
    this.#guarded = guardedAgent({ connectTimeoutMs, allowPrivateNetwork: options.allowPrivateNetwork });
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /**
   * Sends a request without a photo, so the server makes no model. Returns an error for the operator if the server
   * cannot be used, for example because its address is wrong, or if its models do not fit into the temporary folder.
   */
  async probe(): Promise<Error | undefined> {
    const signal = AbortSignal.timeout(probeTimeoutMs);
    try {
      const full = await this.#folders.problem();
      if (!full) await this.#sendWithoutPhoto(signal);
      return full;
    } catch (error) {
      if (error instanceof RefusedRequest) {
        return isUnsuitable(error.status) ? new Error(error.forOperator) : undefined;
      }
      // It may be making a model for another client, and accept photos after that.
      if (signal.aborted) return new Error(`${this.#name} does not respond`);
      const cause = this.#explained(error);
      return cause instanceof TemporaryFailure
        ? cause
        : new Error(`${this.#name} cannot be used: ${errorMessage(cause)}`);
    }
  }

  async generate(
    photos: readonly SidePhoto[],
    { sampler, options, maxTriangles = meshDefaults.maxTriangles, onProgress, signal: canceled }: MakeOptions = {},
  ): Promise<Made> {
    const { manifest, timeoutMs } = this.#options;
    const { name, license } = manifest;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = canceled ? AbortSignal.any([canceled, timeout]) : timeout;
    const start = performance.now();
    const [front, ...others] = photos;
    if (!front) throw new TypeError('A model needs a photo');
    const make = async (folder: string) => {
      const file = (which: keyof typeof modelFiles) => join(folder, modelFiles[which]);
      const image = await encodeImage(front.image, 'png');
      await this.#receive(modelRequest(manifest, image, { sampler, options }), file('received'), signal);
      const write = performance.now();
      onProgress?.(0.9, 'write');
      const { license: terms, source } = license.weights;
      await this.#reader.read({ folder, maxTriangles, credit: { name, license: terms, source } }, signal);
      const [glb, thumbnail, transparentThumbnail] = await Promise.all([
        readFile(file('glb')),
        readFile(file('thumbnail')),
        readFile(file('transparentThumbnail')),
      ]);
      const end = performance.now();
      onProgress?.(1, undefined);
      const stats = {
        bundle: name,
        // These servers take one photo.
        warnings: others.map(({ side }) => `photo_not_used_${side}`),
        outlineOverlap: undefined,
        stageMs: { encode: write - start, write: end - write },
      };
      return checked(Made, { glb, thumbnail, transparentThumbnail, deviceMs: 0, engineMs: end - start, stats });
    };
    try {
      return await this.#folders.use(make);
    } catch (error) {
      canceled?.throwIfAborted();
      if (!timeout.aborted) throw error;
      throw new AttemptFailure(`The model server took longer than ${timeoutMs / 1_000} s`, { cause: error });
    }
  }

  kill(): void {
    this.#end(new ExitError('the model server is no longer used', { code: 0 }));
    for (const agent of [this.#agent, this.#guarded]) void agent.destroy();
  }

  /** Names the server in the operator's log. Jobs' errors do not have its address. */
  get #name(): string {
    return `the model server of ${this.#options.manifest.name} at ${this.#endpoint.href}`;
  }

  /** Writes what the server returns for a photo to a file: a GLB, or JSON that has one. */
  async #receive({ url, headers, body }: ModelRequest, file: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#save(await this.#send(url, this.#agent, signal, { headers, body }), file);
      const modelUrl = await urlIn(file);
      if (modelUrl === undefined) return;
      const target = URL.canParse(modelUrl, url.href) ? new URL(modelUrl, url) : undefined;
      if (!target || !/^https?:$/.test(target.protocol)) {
        throw refused('The model server returned a URL that is not an http(s) URL.');
      }
      const isOwn = target.origin === url.origin;
      await this.#save(await this.#send(target, isOwn ? this.#agent : this.#guarded, signal), file);
    } catch (error) {
      const cause = isLost(error) ? ((await this.#unsuitable(signal)) ?? error) : error;
      if (cause instanceof RefusedRequest) throw refused(cause.message, cause.forOperator);
      throw this.#explained(cause);
    }
  }

  async #sendWithoutPhoto(signal: AbortSignal): Promise<void> {
    const { url, ...request } = modelRequest(this.#options.manifest, undefined);
    const response = await this.#send(url, this.#agent, signal, request);
    response.body.on('error', () => {}).destroy();
  }

  /**
   * Returns why no request can succeed. A server that refuses a photo before reading it, such as trellis2.c, closes
   * the connection, and its response is lost.
   */
  async #unsuitable(signal: AbortSignal): Promise<RefusedRequest | undefined> {
    try {
      await this.#sendWithoutPhoto(AbortSignal.any([signal, AbortSignal.timeout(probeTimeoutMs)]));
    } catch (error) {
      if (error instanceof RefusedRequest && isUnsuitable(error.status)) return error;
    }
    return undefined;
  }

  #explained(error: unknown): unknown {
    const { code } = error as { code?: unknown };
    if (code === 'GEN3D_FORBIDDEN_ADDRESS') {
      return refused(
        'The model server returned a URL that has no public address. Ask the operator to allow it.',
        error,
      );
    }
    if (typeof code === 'string' && temporaryCodes.test(code)) {
      return new TemporaryFailure(`${this.#name} cannot be reached (${code})`, { cause: error });
    }
    return error;
  }

  /** Sends a POST with a body, or else a GET. The API key is for the server's own origin only. */
  async #send(
    url: URL,
    dispatcher: Dispatcher,
    signal: AbortSignal,
    { headers, body }: Partial<ModelRequest> = {},
  ): Promise<Dispatcher.ResponseData> {
    const { keyVariable } = this.#options.manifest;
    const key = keyVariable === undefined ? undefined : process.env[keyVariable];
    const response = await request(url, {
      dispatcher,
      signal,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...headers,
        ...(key && url.origin === this.#endpoint.origin && { authorization: `Bearer ${key}` }),
      },
      ...(body !== undefined && { body }),
    });
    const { statusCode: status } = response;
    if (status === 200) return response;
    response.body.on('error', () => {});
    // A page this long does not have its message in one of the usual forms.
    const tooLong = new Error('The error page is too long');
    const limit = { announced: Number.NaN, maxBytes: maxErrorBytes, tooLarge: () => tooLong };
    const words = await readBody(response.body, limit).then(errorWords, (error: unknown) => {
      if (error === tooLong) return '';
      throw error;
    });
    const what = `HTTP ${status}${words === '' ? '' : `, ${quoted(words)}`}`;
    if (isTemporary(status, words))
      throw new TemporaryFailure(`${this.#name} returned ${what}${this.#keyHint(status)}`);
    if (status < 500 || isUnsuitable(status)) throw new RefusedRequest(status, what, this.#name);
    // No server says whether its 500 is for good.
    throw new AttemptFailure(`The model server returned ${what}`);
  }

  #keyHint(status: number): string {
    if (status !== 401 && status !== 403) return '';
    const { keyVariable } = this.#options.manifest;
    if (keyVariable === undefined) return '. If it needs an API key, name its environment variable as keyVariable';
    return process.env[keyVariable] ? `. Check the key in ${keyVariable}` : `. ${keyVariable} is not set`;
  }

  /** Streams a response to a file. Never pauses, as `readBody`, so memory holds what a slow disk has not written. */
  async #save({ headers, body }: Dispatcher.ResponseData, path: string): Promise<void> {
    const { maxBytes = maxReceivedBytes } = this.#options;
    // Destroying the body emits an error. The cause is already reported.
    body.on('error', () => {});
    const tooLarge = () => refused(`The model server returned more than ${Math.round(maxBytes / mebibyte)} MiB.`);
    if (Number(headers['content-length']) > maxBytes) {
      body.destroy();
      throw tooLarge();
    }
    const file = createWriteStream(path, { mode: 0o600 });
    const written = finished(file);
    written.catch((error: Error) => body.destroy(error));
    try {
      let size = 0;
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        size += chunk.length;
        if (size > maxBytes) throw tooLarge();
        file.write(chunk);
      }
      file.end();
    } catch (error) {
      file.destroy(error as Error);
    }
    await written;
  }
}

/** The server refused a request, in its own words. */
class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
  /** Also names the address. */
  readonly forOperator: string;

  constructor(
    readonly status: number,
    what: string,
    server: string,
  ) {
    super(
      isUnsuitable(status)
        ? `The bundle of the model server is wrong: ${what}. Ask the operator to correct its url, body or model.`
        : `The model server refused the photo: ${what}. Try another photo.`,
    );
    const advice = isUnsuitable(status) ? '. Correct url, body or model in the manifest: jobs fail until then' : '';
    this.forOperator = `${server} returned ${what}${advice}`;
  }
}

/** Returns the model's URL, if the file is a response with one. */
async function urlIn(file: string): Promise<string | undefined> {
  if ((await stat(file)).size > maxUrlBytes) return undefined;
  const { b64_json, url } = parseJson(ModelResponse, await readFile(file))?.data[0] ?? {};
  return (!b64_json && url) || undefined;
}

/** Returns the maker for a bundle of the kind `http`. Removes the folders of killed processes first. */
export async function openModelServer(settings: ModelServerSettings, log: Logger): Promise<ModelMaker> {
  // A folder that cannot be removed must not prevent the start.
  await removeLeftFolders().catch((error: unknown) => log.warn({ err: error }, 'cannot remove old temporary folders'));
  return new ModelServer(settings);
}
