import { CreateJobResponse } from '@gen3d/schema/dashboard';
import { type RealSizeTexts, sniffedBytes, sniffFileType } from '@gen3d/schema/rules';
import { createJobRequest, InvalidRequestError, newIdempotencyKey, prepareImage } from '@gen3d/sdk';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Api, parseResponse } from '../api.js';
import { keepPhoto } from './kept-photos.js';
import type { PhotoRequest, PhotoResponse } from './photo-worker.js';

/** A photo that is sent to create a job. */
export interface Upload {
  /** Identifies the upload. As the job's idempotency key, it keeps a repeated request from creating a second job. */
  key: string;
  name: string;
  /** blob: URL of the photo itself. */
  preview: string;
  file: Blob;
  size: RealSizeTexts;
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
  const previews = useRef(new Set<string>());

  useEffect(
    () => () => {
      for (const preview of previews.current) URL.revokeObjectURL(preview);
    },
    [],
  );

  const change = useCallback((key: string, changes: Partial<Upload>) => {
    setUploads((all) => all.map((upload) => (upload.key === key ? { ...upload, ...changes } : upload)));
  }, []);

  const newPreview = useCallback((photo: Blob) => {
    const preview = URL.createObjectURL(photo);
    previews.current.add(preview);
    return preview;
  }, []);

  const send = useCallback(
    ({ key, name, file, size }: Upload) => {
      queue.current = queue.current.then(async () => {
        try {
          const photo = await prepareImage(file, { name, decode: decodePhoto });
          // The browser may be unable to show the original.
          if (photo !== file) change(key, { preview: newPreview(photo) });
          const request = { image: photo, idempotencyKey: key, label: name, ...size };
          const { json, headers } = await createJobRequest(request);
          const { job_id } = parseResponse(CreateJobResponse, await api.send('POST', '/jobs', json, headers));
          await keepPhoto(job_id, photo);
          change(key, { state: 'accepted', jobId: job_id });
          onAccepted();
        } catch (error) {
          const canRetry = !(error instanceof InvalidRequestError);
          change(key, { state: 'failed', problem: (error as Error).message, canRetry });
        }
      });
    },
    [api, change, newPreview, onAccepted],
  );

  const add = useCallback(
    (files: Iterable<File>, size: RealSizeTexts) => {
      const added = [...files].map((file): Upload => {
        return { key: newIdempotencyKey(), name: file.name, preview: newPreview(file), file, size, state: 'sending' };
      });
      // The last file becomes the newest job, so it comes first, as in the list of jobs.
      setUploads((all) => [...added.toReversed(), ...all]);
      added.forEach(send);
    },
    [newPreview, send],
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
