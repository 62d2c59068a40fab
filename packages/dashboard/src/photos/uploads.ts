import { CreateJobResponse } from '@gen3d/schema/dashboard';
import { encodeLabel, labelHeader } from '@gen3d/schema/rules';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Api, parseResponse } from '../api.js';
import { keepPhoto } from './kept-photos.js';
import { PhotoError, preparePhoto, toDataUri } from './prepare-photo.js';

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

/** Not `crypto.randomUUID`, which pages over plain http do not have. */
const newKey = () =>
  `dashboard-${Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

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
          const photo = await preparePhoto(file, name);
          // The browser may be unable to show the original.
          if (photo !== file) change(key, { preview: newPreview(photo) });
          const body = {
            type: 'image-to-3d',
            input: { image_urls: [await toDataUri(photo)] },
            idempotency_key: key,
          };
          const label = encodeLabel(name);
          const headers = label === undefined ? {} : { [labelHeader]: label };
          const { job_id } = parseResponse(CreateJobResponse, await api.send('POST', '/jobs', body, headers));
          await keepPhoto(job_id, photo);
          change(key, { state: 'accepted', jobId: job_id });
          onAccepted();
        } catch (error) {
          const canRetry = !(error instanceof PhotoError);
          change(key, { state: 'failed', problem: (error as Error).message, canRetry });
        }
      });
    },
    [api, change, newPreview, onAccepted],
  );

  const add = useCallback(
    (files: Iterable<File>) => {
      const added = [...files].map((file): Upload => {
        return { key: newKey(), name: file.name, preview: newPreview(file), file, state: 'sending' };
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
