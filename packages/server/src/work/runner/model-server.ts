import { ConversionError, readModel } from '@gen3d/convert';
import {
  type ChosenDevice,
  type DecodedPhoto,
  EngineError,
  encode,
  type HttpManifest,
  type PoolGenerateOptions,
  problemOfGlb,
  renderPartThumbnails,
} from '@gen3d/engine';
import { quoted } from '@gen3d/schema';
import { Agent, type Dispatcher, request } from 'undici';
import { z } from 'zod';
import type { TargetRules } from '../../base/net/address.js';
import { guardedAgent } from '../../base/net/guarded-agent.js';
import { readBody } from '../../base/net/read-body.js';
import { TemporaryFailure } from '../stages/stage-failures.js';
import type { ModelMaker } from './runner.js';

const mebibyte = 1024 ** 2;
const connectTimeoutMs = 15_000;
/** A model of this size and its copies take about 0.5 GB of the 1.3 GB that a runner reserves for its first job. */
export const maxModelBytes = 64 * mebibyte;
const maxErrorBytes = 64 * 1024;

/** An operator can resolve these: the server is not running, overloaded, elsewhere, or needs a key. */
const temporaryCodes =
  /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/;
const temporaryStatuses = new Set([401, 403, 404, 429, 502, 503, 504]);

const Generated = z.object({
  data: z.tuple([z.object({ b64_json: z.string().nullish(), url: z.string().nullish() })]).rest(z.unknown()),
});
const Refused = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) });

export interface ModelServerOptions {
  manifest: HttpManifest;
  /** Longest time for one model. */
  timeoutMs: number;
  /** Where a model may be, if the server returns a URL of another origin than its own. */
  rules: TargetRules;
  /** Default: `maxModelBytes`. */
  maxBytes?: number;
}

const refused = (message: string, cause?: unknown) => new EngineError('inference_failed', message, { cause });

/**
 * Makes models on a server that the operator runs, named by a bundle of the kind `http`: docs/bundles.md. The operator
 * chose the server, so it may be at any address. The file that it returns is not trusted: it is limited in size, checked
 * by Khronos's validator, and gets a thumbnail of ours.
 *
 * While the server is unavailable, the jobs wait and lose no attempt. A request that fails in any other way, or takes too
 * long, counts as an attempt, unless the server refuses the photo: then the job fails.
 */
export class ModelServer implements ModelMaker {
  /** Always the CPU, because the networks run elsewhere. */
  readonly chosen: ChosenDevice = { provider: 'cpu', rejected: [] };
  readonly #options: ModelServerOptions;
  readonly #endpoint: URL;
  // The server responds after minutes. Connections are not reused, because it may have closed them in the meantime.
  readonly #agent = new Agent({ connect: { timeout: connectTimeoutMs }, headersTimeout: 0, pipelining: 0 });
  readonly #guarded: Agent;

  constructor(options: ModelServerOptions) {
    this.#options = options;
    this.#endpoint = new URL('v1/3d/generations', options.manifest.url.replace(/\/*$/, '/'));
    this.#guarded = guardedAgent({ connectTimeoutMs, ...options.rules });
  }

  async generate(photo: DecodedPhoto, { sampler, onProgress, signal }: PoolGenerateOptions = {}) {
    const { name, license, model } = this.#options.manifest;
    const start = performance.now();
    const image = Buffer.from(await encode(photo)).toString('base64');
    const received = await this.#request(
      {
        ...(model !== undefined && { model }),
        image,
        response_format: 'b64_json',
        ...(sampler?.seed !== undefined && { seed: sampler.seed }),
        ...(sampler?.steps !== undefined && { step: sampler.steps }),
      },
      signal,
    );
    const write = performance.now();
    onProgress?.(0.9, { running: 'write', deviceMs: 0, deviceWaitMs: 0 });
    const { parts, materials } = await checkedModel(received);
    const { license: terms, source } = license.weights;
    const glb = withCredit(received, { name, license: terms, source });
    const thumbnail = performance.now();
    signal?.throwIfAborted();
    const { jpeg, webp } = await renderPartThumbnails(parts, materials);
    const end = performance.now();
    onProgress?.(1, { running: undefined, deviceMs: 0, deviceWaitMs: 0 });
    return {
      glb,
      thumbnail: jpeg,
      transparentThumbnail: webp,
      deviceMs: 0,
      engineMs: end - start,
      stats: {
        bundle: name,
        warnings: [],
        outlineOverlap: undefined,
        stageMs: { encode: write - start, write: thumbnail - write, thumbnail: end - thumbnail },
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#agent.destroy(), this.#guarded.destroy()]);
  }

  async #request(body: object, canceled: AbortSignal | undefined): Promise<Uint8Array> {
    const { manifest, timeoutMs } = this.#options;
    const server = `the model server of ${manifest.name} at ${this.#endpoint.origin}`;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = canceled ? AbortSignal.any([canceled, timeout]) : timeout;
    try {
      const response = await this.#send(this.#endpoint, this.#agent, signal, server, JSON.stringify(body));
      if (response.subarray(0, 4).toString('latin1') === 'glTF') return response;
      const { b64_json, url } = parse(Generated, response)?.data[0] ?? {};
      if (b64_json) return Buffer.from(b64_json, 'base64');
      if (!url || !URL.canParse(url, this.#endpoint.href))
        throw refused('The model server returned neither a model nor its URL.');
      const target = new URL(url, this.#endpoint);
      const isOwn = target.origin === this.#endpoint.origin;
      return await this.#send(target, isOwn ? this.#agent : this.#guarded, signal, server);
    } catch (error) {
      canceled?.throwIfAborted();
      if (timeout.aborted) throw new Error(`${server} took longer than ${timeoutMs / 1_000} s`, { cause: error });
      const { code } = error as { code?: unknown };
      if (code === 'GEN3D_FORBIDDEN_ADDRESS') {
        throw refused(
          'The model server returned a URL that has no public address. Ask the operator to allow it.',
          error,
        );
      }
      if (typeof code === 'string' && temporaryCodes.test(code)) {
        throw new TemporaryFailure(`${server} cannot be reached (${code})`, { cause: error });
      }
      throw error;
    }
  }

  /** Sends a POST with `body`, or else a GET, and reads the response. */
  async #send(url: URL, dispatcher: Dispatcher, signal: AbortSignal, server: string, body?: string): Promise<Buffer> {
    const { maxBytes = maxModelBytes } = this.#options;
    const response = await request(url, {
      dispatcher,
      signal,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json, model/gltf-binary',
        'content-type': 'application/json',
        'user-agent': 'gen3d',
      },
      ...(body !== undefined && { body }),
    });
    const { statusCode, headers } = response;
    // Destroying the body emits an error. The cause is already reported.
    response.body.on('error', () => {});
    const announced = Number(headers['content-length']);
    const tooLarge = () => refused(`The model server returned more than ${Math.round(maxBytes / mebibyte)} MiB.`);
    // In JSON, a model takes a third more.
    if (statusCode === 200) return readBody(response.body, { announced, maxBytes: maxBytes * 1.4, tooLarge });
    const text = await readBody(response.body, { announced, maxBytes: maxErrorBytes, tooLarge });
    const error = parse(Refused, text)?.error;
    const message = typeof error === 'string' ? error : error?.message;
    const what = `HTTP ${statusCode}${message === undefined ? '' : `, ${quoted(message)}`}`;
    if (temporaryStatuses.has(statusCode)) throw new TemporaryFailure(`${server} returned ${what}`);
    if (statusCode >= 400 && statusCode < 500)
      throw refused(`The model server refused the photo: ${what}. Try another photo.`);
    throw new Error(`${server} returned ${what}`);
  }
}

function parse<T>(schema: z.ZodType<T>, bytes: Buffer): T | undefined {
  try {
    return schema.safeParse(JSON.parse(bytes.toString())).data;
  } catch {
    return undefined;
  }
}

/** @throws {EngineError} if the file is not a valid GLB with triangles, or needs extensions or other files */
async function checkedModel(glb: Uint8Array) {
  const model = await readModel(glb).catch((error: unknown) => {
    if (!(error instanceof ConversionError)) throw error;
    throw refused(`The model server returned a file that cannot be used. ${error.message}.`, error);
  });
  const problem = await problemOfGlb(glb);
  if (problem === undefined) return model;
  throw refused(`The model server returned an invalid GLB: ${quoted(problem)}. Ask the operator to check the server.`);
}

const headerBytes = 20;

/** Names the origin and the terms in the file's JSON, as the engine does in its files. Everything else stays as it is. */
function withCredit(glb: Uint8Array, credit: { name: string; license: string; source: string }): Uint8Array {
  const file = Buffer.from(glb.buffer, glb.byteOffset, glb.byteLength);
  const jsonEnd = headerBytes + file.readUInt32LE(12);
  const gltf = JSON.parse(file.toString('utf8', headerBytes, jsonEnd)) as { asset: { extras?: unknown } };
  const { extras } = gltf.asset;
  gltf.asset.extras = { ...(typeof extras === 'object' ? extras : undefined), bundles: [credit] };
  const json = Buffer.from(JSON.stringify(gltf));
  const padding = Buffer.alloc(-json.length & 3, ' ');
  const rest = file.subarray(jsonEnd, file.readUInt32LE(8));
  const header = Buffer.from(file.subarray(0, headerBytes));
  header.writeUInt32LE(json.length + padding.length, 12);
  header.writeUInt32LE(headerBytes + json.length + padding.length + rest.length, 8);
  return Buffer.concat([header, json, padding, rest]);
}
