import { CreateJobResponse, type GalleryJob } from '@gen3d/schema/dashboard';
import { limits } from '@gen3d/schema/rules';
import { type Api, parseResponse } from './api.js';
import { copyKeptPhoto, forgetPhoto } from './photos/kept-photos.js';

/** How many ids one request may contain. */
const maxIds = limits.pageSize.max;

/** Hides jobs from the gallery, or shows them again. @throws {ApiError} */
export async function setHidden(api: Api, ids: readonly string[], hidden: boolean): Promise<void> {
  for (let start = 0; start < ids.length; start += maxIds) {
    const body = { task_ids: ids.slice(start, start + maxIds) };
    await api.send('POST', hidden ? '/gallery/hide' : '/gallery/unhide', body);
  }
}

/** Cancels an unfinished job. @throws {ApiError} */
export const cancelJob = (api: Api, id: string): Promise<unknown> => api.send('POST', `/gallery/${id}/cancel`);

/** The user confirms this before `deleteJob`. */
export const deleteConsequence =
  'The model, the photo and the name are removed for good. Links to the model stop working.';

/** Deletes a job that is not in inference, and this browser's copy of its photo. @throws {ApiError} */
export async function deleteJob(api: Api, id: string): Promise<void> {
  await api.send('DELETE', `/gallery/${id}`);
  await forgetPhoto(id);
}

/**
 * Creates a job for another job's photo, and replaces that job in the gallery if it has no model. @throws {ApiError}
 */
export async function retryJob(
  api: Api,
  { task_id: id, status }: Pick<GalleryJob, 'task_id' | 'status'>,
): Promise<string> {
  const { job_id } = parseResponse(CreateJobResponse, await api.send('POST', `/gallery/${id}/retry`));
  await copyKeptPhoto(id, job_id);
  if (status !== 'SUCCEEDED') await setHidden(api, [id], true);
  return job_id;
}
