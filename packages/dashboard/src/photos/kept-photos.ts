// The server deletes a photo when its job has succeeded, so the browser that sent it keeps a smaller copy.
import { type PhotoSide, photoSides } from '@gen3d/schema/rules';
import { prepareImage } from '@gen3d/sdk';

const storeName = 'photos';
/** The longest side of a stored copy, in pixels. */
const maxSide = 1_024;

const resultOf = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open('gen3d', 1);
  request.onupgradeneeded = () => request.result.createObjectStore(storeName);
  return resultOf(request);
}

async function inStore<T>(mode: IDBTransactionMode, action: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await openDatabase();
  try {
    return await resultOf(action(db.transaction(storeName, mode).objectStore(storeName)));
  } finally {
    db.close();
  }
}

const keyOf = (jobId: string, side: PhotoSide) => `${jobId}.${side}`;

/** Keeps a small copy of a job's photo, unless the browser cannot store one (a private window). */
export async function keepPhoto(jobId: string, side: PhotoSide, photo: Blob): Promise<void> {
  try {
    const copy = await prepareImage(photo, { maxSide });
    await inStore('readwrite', (store) => store.put(copy, keyOf(jobId, side)));
  } catch {
    // The dashboard works without copies.
  }
}

/** Returns the copy of a job's photo. Undefined if this browser did not send it. */
export async function keptPhoto(jobId: string, side: PhotoSide): Promise<Blob | undefined> {
  return inStore<Blob | undefined>('readonly', (store) => store.get(keyOf(jobId, side))).catch(() => undefined);
}

/** Keeps the copies of a job's photos for the job that repeats it, too. */
export async function copyKeptPhotos(fromJobId: string, toJobId: string): Promise<void> {
  for (const side of photoSides) {
    const photo = await keptPhoto(fromJobId, side);
    if (photo) await inStore('readwrite', (store) => store.put(photo, keyOf(toJobId, side))).catch(() => {});
  }
}

/** Removes the copies of a deleted job's photos. */
export async function forgetPhotosOf(jobId: string): Promise<void> {
  for (const side of photoSides)
    await inStore('readwrite', (store) => store.delete(keyOf(jobId, side))).catch(() => {});
}

/** Removes all copies. A session lasts a week at most, so no copy is kept for longer. */
export async function forgetPhotos(): Promise<void> {
  await inStore('readwrite', (store) => store.clear()).catch(() => {});
}
