import { CreateJobResponse, type GalleryJob, type Task } from '@gen3d/schema/dashboard';
import type { JobEstimate } from '@gen3d/schema/rules';
import { type Api, parseResponse } from './api.js';

/** Both statuses before inference have the same label, because the difference matters only to the server. */
export const statusLabels: Record<Task['status'], string> = {
  PENDING: 'Waiting',
  QUEUED: 'Waiting',
  IN_PROGRESS: 'In progress',
  SUCCEEDED: 'Done',
  FAILED: 'Failed',
  CANCELED: 'Canceled',
};

/** Advice for a failed job, by its error code. */
export const failureAdvice: Record<string, string> = {
  image_fetch_failed: 'Open the URL in a browser to check it, or upload the photo itself.',
  image_too_large: 'Use a smaller photo: at most 25 MiB and 100 megapixels.',
  image_invalid: 'Use an undamaged PNG, JPEG or WebP photo of at least 16 by 16 pixels.',
  inference_failed: 'Try another view: the whole object, from the front and slightly above.',
  unsupported_type: 'Use the type image-to-3d.',
  internal_error: 'Try again. If it fails again, look at the server’s log.',
};

/** Whether the same photo may become a model. Other failures need another photo. */
export const retryMayHelp = ({ error }: Task): boolean =>
  !error || error.code === 'internal_error' || error.code === 'image_fetch_failed';

/** Returns the job's label, or the end of its id if it has none. */
export const jobName = ({ label, task_id }: Pick<GalleryJob, 'label' | 'task_id'>): string =>
  label ?? `Model ${task_id.slice(-6)}`;

export const estimateOf = ({ queue_position, stage }: GalleryJob): JobEstimate => ({
  position: queue_position ?? undefined,
  stage: stage ?? undefined,
});

/** Cancels an unfinished job. @throws {ApiError} */
export const cancelJob = (api: Api, id: string): Promise<unknown> => api.send('POST', `/gallery/${id}/cancel`);

/** The user confirms this before `deleteJob`. */
export const deleteConsequence =
  'The model, the photos and the name are removed for good. Links to the model stop working.';

/** Deletes a job that is not in inference. @throws {ApiError} */
export const deleteJob = (api: Api, id: string): Promise<unknown> => api.send('DELETE', `/gallery/${id}`);

/** Creates a job for another job's photos. Returns its id. @throws {ApiError} */
export async function retryJob(api: Api, id: string): Promise<string> {
  return parseResponse(CreateJobResponse, await api.send('POST', `/gallery/${id}/retry`)).job_id;
}
