import { CreateJobResponse } from '@gen3d/schema/dashboard';
import { createJobRequest, InvalidRequestError, newIdempotencyKey, prepareImage } from '@gen3d/sdk';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Api, parseResponse } from '../api.js';
import { decodePhoto } from './decode-photo.js';
import { keepPhoto } from './kept-photos.js';

/** A photo that is sent to create a job. */
export interface Upload {
  /** Also the job's idempotency key, so that sending it again does not create a second job. */
  key: string;
  name: string;
  /** blob: URL of the photo itself. */
  preview: string;
  file: Blob;
  state: 'sending' | 'accepted' | 'failed';
  problem?: string;
  /** Whether sending it again may succeed. */
  canRetry?: boolean;
  /** Once accepted. */
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
    ({ key, name, file }: Upload) => {
      queue.current = queue.current.then(async () => {
        try {
          const photo = await prepareImage(file, { name, decode: decodePhoto });
          // The browser may be unable to show the original.
          if (photo !== file) change(key, { preview: newPreview(photo) });
          const { json, headers } = await createJobRequest({ image: photo, idempotencyKey: key, label: name });
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
    (files: Iterable<File>) => {
      const added = [...files].map((file): Upload => {
        return { key: newIdempotencyKey(), name: file.name, preview: newPreview(file), file, state: 'sending' };
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
