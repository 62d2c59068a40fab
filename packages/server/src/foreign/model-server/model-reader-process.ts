/** A process that turns one file of a model server into a model. It has no secrets, and its crash costs one job. */
import { closeSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConversionError, declaredTriangles, editJson, readModel } from '@gen3d/convert';
import { nodeTools } from '@gen3d/convert/node';
import { digitalSourceType, EngineError, problemOfGlb, renderPartThumbnails } from '@gen3d/engine';
import { type Handlers, parentChannel } from '@gen3d/rpc';
import { quoted } from '@gen3d/schema';
import { leaveSignalsToParent, yieldToOthers } from '../../base/child-process.js';
import { maxModelBytes } from '../../work/runner/runner-protocol.js';
import { type ModelReaderFunctions, modelFiles, type ReadRequest } from './model-reader.js';
import { ModelResponse, parseJson } from './model-response.js';

const mebibyte = 1024 ** 2;
/** JSON is read as a whole. In base64, a model takes a third more. */
const maxJsonBytes = 1.4 * maxModelBytes;
/** The limit of a model before it is simplified: TRELLIS.2 returns 5.5 million triangles. */
const maxReceivedTriangles = 6_000_000;

const refused = (message: string, cause?: unknown) => new EngineError('inference_failed', message, { cause });

yieldToOthers(10);
leaveSignalsToParent();

parentChannel({
  async read(request) {
    try {
      await read(request);
    } catch (error) {
      if (!(error instanceof ConversionError)) throw error;
      throw refused(`The model server returned a file that cannot be used. ${error.message}.`, error);
    }
  },
} satisfies Handlers<ModelReaderFunctions>);

async function read({ folder, maxTriangles, credit }: ReadRequest): Promise<void> {
  const write = (name: string, bytes: Uint8Array) => writeFileSync(join(folder, name), bytes);
  const glb = await simplified(receivedModel(join(folder, modelFiles.received)), maxTriangles);
  if (glb.length > maxModelBytes) {
    const limit = `${maxModelBytes / mebibyte} MiB`;
    throw refused(
      `The model server returned a model of ${Math.ceil(glb.length / mebibyte)} MiB after simplification, and the limit is ${limit}. Ask the operator for smaller textures.`,
    );
  }
  const { parts, materials } = await readModel(glb);
  const problem = await problemOfGlb(glb);
  if (problem !== undefined) {
    throw refused(
      `The model server returned an invalid GLB: ${quoted(problem)}. Ask the operator to check the server.`,
    );
  }
  write(modelFiles.glb, withCredit(glb, credit));
  const { jpeg, webp } = await renderPartThumbnails(parts, materials);
  write(modelFiles.thumbnail, jpeg);
  write(modelFiles.transparentThumbnail, webp);
}

/** Returns the model itself, or the one in base64 in a JSON. */
function receivedModel(path: string): Uint8Array {
  const isJson = readStart(path) === '{';
  if (isJson && statSync(path).size > maxJsonBytes) {
    throw refused(`The model server returned more than ${Math.floor(maxJsonBytes / mebibyte)} MiB of JSON.`);
  }
  const file = readFileSync(path);
  if (!isJson) return new Uint8Array(file.buffer, file.byteOffset, file.length);
  const { b64_json } = parseJson(ModelResponse, file)?.data[0] ?? {};
  if (!b64_json) throw refused('The model server returned neither a model nor its URL.');
  return new Uint8Array(Buffer.from(b64_json, 'base64'));
}

/** Returns the first character of a file that is not white space, if it is among the first few. */
const readStart = (path: string): string => {
  const start = Buffer.alloc(16);
  const file = openSync(path, 'r');
  try {
    return start.toString('latin1', 0, readSync(file, start)).trimStart().charAt(0);
  } finally {
    closeSync(file);
  }
};

async function simplified(glb: Uint8Array, maxTriangles: number): Promise<Uint8Array> {
  const triangles = declaredTriangles(glb);
  if (triangles > maxReceivedTriangles) {
    const limit = `${maxReceivedTriangles / 1e6} million`;
    throw refused(`The model server returned ${triangles} triangles, and the limit is ${limit}.`);
  }
  return triangles <= maxTriangles ? glb : (await nodeTools.adjustGlb(glb, { triangles: maxTriangles })).glb;
}

/** States the origin and the terms, as the engine does in its files. Everything else stays as it is. */
const withCredit = (glb: Uint8Array, credit: ReadRequest['credit']): Uint8Array =>
  editJson(glb, ({ asset }) => {
    const { extras } = asset;
    asset.extras = { ...(typeof extras === 'object' ? extras : undefined), digitalSourceType, bundles: [credit] };
  });
