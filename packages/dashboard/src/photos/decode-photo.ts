import { sniffedBytes, sniffFileType } from '@gen3d/schema/rules';
import type { PhotoRequest, PhotoResponse } from './photo-worker.js';

/**
 * Decodes a photo with the browser. If it is a HEIC or TIFF that the browser cannot read, loads a decoder for it.
 *
 * @throws {Error} if it cannot be decoded
 */
export async function decodePhoto(file: Blob): Promise<ImageBitmap> {
  try {
    return await createImageBitmap(file);
  } catch (error) {
    const format = sniffFileType(new Uint8Array(await file.slice(0, sniffedBytes).arrayBuffer()));
    if (format !== 'heic' && format !== 'tiff') throw error;
    const photo = await decodeInWorker({ format, file: await file.arrayBuffer() });
    if (photo === undefined) throw error;
    const { rgba, width, height, colorSpace } = photo;
    return createImageBitmap(new ImageData(new Uint8ClampedArray(rgba), width, height, { colorSpace }));
  }
}

/** One worker per photo: ending it frees the decoder's memory, several times that of the pixels. */
function decodeInWorker(request: PhotoRequest): Promise<PhotoResponse> {
  const worker = new Worker(new URL('./photo-worker.ts', import.meta.url));
  return new Promise<PhotoResponse>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<PhotoResponse>) => resolve(data);
    worker.onerror = (event) => reject(new Error(`The decoder could not be loaded: ${event.message}`));
    worker.postMessage(request, [request.file]);
  }).finally(() => worker.terminate());
}
