// The server deletes a photo when its job has succeeded, so the browser that sent it keeps a smaller copy.
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

/** Keeps a small copy of a job's photo, unless the browser cannot store one (a private window). */
export async function keepPhoto(jobId: string, photo: Blob): Promise<void> {
  try {
    const copy = await prepareImage(photo, { maxSide });
    await inStore('readwrite', (store) => store.put(copy, jobId));
  } catch {
    // The dashboard works without copies.
  }
}

/** Returns the copy of a job's photo. Undefined if this browser did not send it. */
export async function keptPhoto(jobId: string): Promise<Blob | undefined> {
  return inStore<Blob | undefined>('readonly', (store) => store.get(jobId)).catch(() => undefined);
}

/** Keeps the copy of a job's photo for the job that repeats it, too. */
export async function copyKeptPhoto(fromJobId: string, toJobId: string): Promise<void> {
  const photo = await keptPhoto(fromJobId);
  if (photo) await inStore('readwrite', (store) => store.put(photo, toJobId)).catch(() => {});
}

/** Removes the copy of a deleted job's photo. */
export async function forgetPhoto(jobId: string): Promise<void> {
  await inStore('readwrite', (store) => store.delete(jobId)).catch(() => {});
}

/** Removes all copies. A session lasts a week at most, so no copy is kept for longer. */
export async function forgetPhotos(): Promise<void> {
  await inStore('readwrite', (store) => store.clear()).catch(() => {});
}
