import type { GalleryJob } from '@gen3d/schema/dashboard';

type Named = Pick<GalleryJob, 'label' | 'task_id'>;

/** The job's label. A job without one is named by the end of its id. */
export const jobName = ({ label, task_id }: Named): string => label ?? `Model ${task_id.slice(-6)}`;

/** The name of a downloaded file, such as `teapot.glb` for the label `teapot.jpg`. */
export function downloadName(job: Named, extension: string): string {
  const stem = jobName(job)
    .replace(/\.(?:png|jpe?g|webp|gif|avif|hei[cf]|tiff?)$/i, '')
    // Characters that file names on Windows must not contain.
    .replace(/[<>:"/\\|?*]+/g, '-')
    .replace(/^[. ]+|[. ]+$/g, '');
  return `${stem || 'model'}.${extension}`;
}
