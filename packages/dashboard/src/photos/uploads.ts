import { CreateJobResponse } from '@gen3d/schema/dashboard';
import { type PhotoSide, sniffedBytes, sniffFileType, viewSides } from '@gen3d/schema/rules';
import { createJobRequest, InvalidRequestError, newIdempotencyKey, prepareImage } from '@gen3d/sdk';
import { useCallback, useRef, useState } from 'preact/hooks';
import { type Api, parseResponse } from '../api.js';
import type { PhotoRequest, PhotoResponse } from './photo-worker.js';
import type { ObjectPhotos } from './sides.js';

/** The photos of an object that are sent to create a job. */
export interface Upload {
  /** Identifies the upload. As the job's idempotency key, it keeps a repeated request from creating a second job. */
  key: string;
  name: string;
  /** The photo of the front, in a form that the browser can show if there is one. */
  preview: Blob;
  photos: ObjectPhotos;
  state: 'sending' | 'accepted' | 'failed';
  problem?: string;
  /** Whether sending it again may succeed. */
  canRetry?: boolean;
  /** Set once the server has accepted the photo. */
  jobId?: string;
}

/** Sends photos one after the other. Calls `onAccepted` for each new job. */
export function useUploads(api: Api, onAccepted: () => void) {
  const [uploads, setUploads] = useState<Upload[]>([]);
  const queue = useRef(Promise.resolve());

  const change = useCallback((key: string, changes: Partial<Upload>) => {
    setUploads((all) => all.map((upload) => (upload.key === key ? { ...upload, ...changes } : upload)));
  }, []);

  const send = useCallback(
    (upload: Upload) => {
      const { key } = upload;
      queue.current = queue.current.then(async () => {
        try {
          const prepared = await preparePhotos(upload.photos);
          change(key, { preview: prepared.front });
          change(key, { state: 'accepted', jobId: await sendPhotos(api, prepared, upload) });
          onAccepted();
        } catch (error) {
          const canRetry = !(error instanceof InvalidRequestError);
          change(key, { state: 'failed', problem: (error as Error).message, canRetry });
        }
      });
    },
    [api, change, onAccepted],
  );

  const add = useCallback(
    (objects: readonly ObjectPhotos[]) => {
      const added = objects.map((photos): Upload => {
        const { name } = photos.front;
        return { key: newIdempotencyKey(), name, preview: photos.front, photos, state: 'sending' };
      });
      // The last file becomes the newest job, so it comes first, as in the list of jobs.
      setUploads((all) => [...added.toReversed(), ...all]);
      added.forEach(send);
    },
    [send],
  );

  const retry = useCallback(
    (upload: Upload) => {
      change(upload.key, { state: 'sending' });
      send(upload);
    },
    [change, send],
  );

  const dismiss = useCallback((key: string) => setUploads((all) => all.filter((upload) => upload.key !== key)), []);

  return { uploads, add, retry, dismiss };
}

type PreparedPhotos = { readonly [side in PhotoSide]?: Blob } & { readonly front: Blob };

/** Makes the photos of an object part of a request. @throws {Error} which names the file */
export async function preparePhotos(photos: ObjectPhotos): Promise<PreparedPhotos> {
  const prepare = (photo: File) => prepareImage(photo, { name: photo.name, decode: decodePhoto });
  const prepared: { [side in PhotoSide]?: Blob } = {};
  for (const side of viewSides) if (photos[side]) prepared[side] = await prepare(photos[side]);
  return { ...prepared, front: await prepare(photos.front) };
}

/** Creates a job. Returns its id. */
export async function sendPhotos(
  api: Api,
  photos: PreparedPhotos,
  { key, name }: Pick<Upload, 'key' | 'name'>,
): Promise<string> {
  const { front, ...views } = photos;
  const { json, headers } = await createJobRequest({ image: front, views, idempotencyKey: key, label: name });
  return parseResponse(CreateJobResponse, await api.send('POST', '/jobs', json, headers)).job_id;
}

/**
 * Decodes a photo with the browser. If it is a HEIC or TIFF that the browser cannot read, loads a decoder for it.
 *
 * @throws {Error} if it cannot be decoded
 */
async function decodePhoto(file: Blob): Promise<ImageBitmap> {
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

/** Decodes a photo in a worker of its own. Ending it frees the decoder's memory, several times that of the pixels. */
function decodeInWorker(request: PhotoRequest): Promise<PhotoResponse> {
  const worker = new Worker(new URL('./photo-worker.ts', import.meta.url));
  return new Promise<PhotoResponse>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<PhotoResponse>) => resolve(data);
    worker.onerror = (event) => reject(new Error(`The decoder could not be loaded: ${event.message}`));
    worker.postMessage(request, [request.file]);
  }).finally(() => worker.terminate());
}
