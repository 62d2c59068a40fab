/** This is the only module that loads onnxruntime, so that it is never loaded before its telemetry is off. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import type * as Onnxruntime from 'onnxruntime-node';
import { loadNativePart } from '../base/native-part.js';

export type { Backend, OnnxValue } from 'onnxruntime-node';
export type InferenceSession = Onnxruntime.InferenceSession;
export type Tensor = Onnxruntime.Tensor;
export type FeedsType = Onnxruntime.InferenceSession.FeedsType;
export type ValueMetadata = Onnxruntime.InferenceSession.ValueMetadata;

// Since 1.29, onnxruntime sends events to Microsoft and writes a device id to ~/.cache, unless this variable is set
// before the first session. Only the main thread can set it, because process.env of a worker thread is a copy.
if (!isMainThread && process.env.ORT_DISABLE_TELEMETRY !== '1') {
  throw new Error(
    'Import @gen3d/engine in the main thread before you start a worker thread that imports it: ' +
      'a worker thread cannot turn the telemetry of onnxruntime off',
  );
}
process.env.ORT_DISABLE_TELEMETRY = '1';

// An import would be hoisted above the assignment.
const require = createRequire(import.meta.url);

/**
 * A clone uses onnxruntime-node, other installations a package of gen3d with its binaries for this platform. The
 * install script of onnxruntime-node downloads CUDA libraries, and `npm install` fails on machines that cannot reach
 * their server.
 */
const platformPackage = `@gen3d/onnxruntime-${process.platform}-${process.arch}`;
const runtimePackage = [platformPackage, 'onnxruntime-node'].find(isInstalled) ?? platformPackage;

export const { env, InferenceSession, listSupportedBackends, registerBackend, Tensor } = loadNativePart(
  runtimePackage,
  () => require(runtimePackage) as typeof Onnxruntime,
);

export const runtimeFolder = () => join(dirname(require.resolve(runtimePackage)), '..');

function isInstalled(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}
