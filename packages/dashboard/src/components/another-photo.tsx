import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useUploads } from '../photos/uploads.js';
import { useSession } from '../session.js';
import { Problem } from './feedback.js';

const ignore = () => {};

/** Sends another photo, and opens the page of its job. */
export function AnotherPhoto({ isPrimary }: { isPrimary: boolean }) {
  const { api } = useSession();
  const { route } = useLocation();
  const { uploads, add } = useUploads(api, ignore);
  const picker = useRef<HTMLInputElement>(null);
  // The latest comes first.
  const upload = uploads[0];
  const jobId = upload?.jobId;
  useEffect(() => {
    if (jobId !== undefined) route(`/dashboard/jobs/${jobId}`);
  }, [jobId, route]);
  return (
    <div>
      <input
        ref={picker}
        type="file"
        accept="image/*,.heic,.heif,.avif,.tif,.tiff"
        hidden
        aria-label="Another photo"
        onChange={(event) => {
          add(event.currentTarget.files ?? []);
          event.currentTarget.value = '';
        }}
      />
      <button
        type="button"
        class={isPrimary ? 'primary' : undefined}
        disabled={upload?.state === 'sending'}
        onClick={() => picker.current?.click()}
      >
        {upload?.state === 'sending' ? 'Sending …' : 'Try another photo'}
      </button>
      <Problem text={upload?.problem} />
    </div>
  );
}
