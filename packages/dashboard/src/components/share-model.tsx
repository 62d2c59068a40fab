import type { GalleryJob } from '@gen3d/schema/dashboard';
import { escapeHtml } from '@gen3d/schema/rules';
import { useSession } from '../session.js';
import { Button, CopyButton } from './buttons.js';

/** Embeds the model in another website. The script is the release that model-viewer's own documentation names. */
const embedCode = (glb: string, poster: string | undefined, name: string) =>
  `<script type="module" src="https://ajax.googleapis.com/ajax/libs/model-viewer/4.0.0/model-viewer.min.js"></script>
<model-viewer src="${glb}"${poster ? ` poster="${poster}"` : ''} alt="${escapeHtml(name)}" camera-controls></model-viewer>`;

/** Shows a link with a button that copies it. */
export function CopyableLink({ label, url, name }: { label: string; url: string; name: string }) {
  return (
    <div class="share">
      <label>
        {label}
        <input readOnly value={url} onFocus={(event) => event.currentTarget.select()} />
      </label>
      <CopyButton text={url} name={name} />
    </div>
  );
}

/** Switches the public page of a model on and off. `act` runs a request, confirms it, and reads the job again. */
export function ShareModel(props: {
  job: GalleryJob;
  name: string;
  act: (request: () => Promise<unknown>, message: string) => void;
}) {
  const { api, account } = useSession();
  const { job, name, act } = props;
  const path = `/gallery/${job.task_id}/share`;
  if (account.sandbox || !job.model_urls) return null;
  const code = embedCode(job.model_urls.glb, job.thumbnail_url ?? undefined, name);
  return (
    <details class="sharing">
      <summary>Share</summary>
      {job.share_path === null ? (
        <>
          <p class="hint">
            A page with this model that anyone with the link can open while the job is in your list. It shows nothing
            else of the account.
          </p>
          <Button
            label="Create a public page"
            onClick={() => act(() => api.send('PUT', path), 'The model has a public page.')}
          />
        </>
      ) : (
        <>
          <p class="hint">Without its page, the model’s file stays public at its permanent link until it is deleted.</p>
          <CopyableLink label="Public page" url={location.origin + job.share_path} name="the link of the public page" />
          <Button
            label="Remove the public page"
            onClick={() => act(() => api.send('DELETE', path), 'The public page is gone.')}
          />
        </>
      )}
      <label>
        For a page of your own
        <textarea readOnly rows={4} value={code} onFocus={(event) => event.currentTarget.select()} />
      </label>
      <CopyButton text={code} name="the code" />
    </details>
  );
}
