import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Call } from '../api.js';
import { keepPhoto } from './kept-photos.js';
import { NotAPhotoError, preparePhoto, toDataUri } from './prepare-photo.js';

/** A photo on its way to becoming a job. */
export interface Upload {
  /** Also the job's idempotency key: sending it again, for whatever reason, makes no second job. */
  key: string;
  name: string;
  /** blob: address of the photo itself. */
  preview: string;
  file: Blob;
  state: 'sending' | 'accepted' | 'refused';
  problem?: string;
  /** Sending it again may go well. */
  mayRetry?: boolean;
  /** Once accepted. */
  jobId?: string;
}

/** Not `crypto.randomUUID`, which a page over plain http does not have. */
const newKey = () =>
  `dashboard-${Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

/** Sends photos one after the other. `onAccepted` hears of each new job. */
export function useUploads(call: Call, onAccepted: () => void) {
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

  const send = useCallback(
    ({ key, name, file }: Upload) => {
      queue.current = queue.current.then(async () => {
        try {
          const photo = await preparePhoto(file, name);
          const body = {
            type: 'image-to-3d',
            input: { image_urls: [await toDataUri(photo)] },
            idempotency_key: key,
          };
          const { job_id } = await call<{ job_id: string }>('POST', '/jobs', body);
          await keepPhoto(job_id, photo);
          change(key, { state: 'accepted', jobId: job_id });
          onAccepted();
        } catch (error) {
          const mayRetry = !(error instanceof NotAPhotoError);
          change(key, { state: 'refused', problem: (error as Error).message, mayRetry });
        }
      });
    },
    [call, change, onAccepted],
  );

  const add = useCallback(
    (files: Iterable<File>) => {
      const added = [...files].map((file): Upload => {
        const preview = URL.createObjectURL(file);
        previews.current.add(preview);
        return { key: newKey(), name: file.name, preview, file, state: 'sending' };
      });
      // The last is created last, and so the newest: at the top, as it will be in the list.
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
