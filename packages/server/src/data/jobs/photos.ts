import type { PhotoSide, ViewSide } from '@gen3d/schema/rules';
import type { JobRow } from '../db/tables.js';

/** A photo of a job. Without a URL to fetch it from, it came with the request, and is in the input store. */
export interface JobPhoto {
  readonly side: PhotoSide;
  readonly url: string | null;
}

type PhotoColumns = Pick<JobRow, 'views' | 'image_urls'>;

/** Returns the columns of a job with these photos. */
export function photoColumns(photos: readonly JobPhoto[]): PhotoColumns {
  const views = photos.map(({ side }) => side).filter((side) => side !== 'front');
  const urls = photos.flatMap(({ side, url }) => (url === null ? [] : [[side, url]]));
  return {
    views: views.length === 0 ? null : JSON.stringify(views),
    image_urls: urls.length === 0 ? null : JSON.stringify(Object.fromEntries(urls)),
  };
}

/** Returns the sides of a job's further photos, beside the front. */
export const viewsOf = ({ views }: Pick<JobRow, 'views'>): ViewSide[] =>
  views === null ? [] : (JSON.parse(views) as ViewSide[]);

/** Returns the URLs of a job's photos, by side. Empty if they came with the request, or once the job has ended. */
export const imageUrlsOf = ({ image_urls }: Pick<JobRow, 'image_urls'>): Partial<Record<PhotoSide, string>> =>
  image_urls === null ? {} : (JSON.parse(image_urls) as Partial<Record<PhotoSide, string>>);

/** Returns the photos of a job, first the front. */
export function photosOf(job: PhotoColumns): JobPhoto[] {
  const urls = imageUrlsOf(job);
  return (['front', ...viewsOf(job)] as const).map((side) => ({ side, url: urls[side] ?? null }));
}

/** Begins a failure's message with the side of its photo, if the job has several. */
export const aboutPhoto = (message: string, side: PhotoSide, job: Pick<JobRow, 'views'>): string =>
  job.views === null
    ? message
    : `Photo of the ${side === 'front' || side === 'back' ? side : `${side} side`}: ${message}`;
