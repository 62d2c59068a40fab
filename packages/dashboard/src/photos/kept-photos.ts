// The server deletes a photo when its job is finished, so the browser that sent it keeps a small copy of its own.
const storeName = 'photos';
/** Longest side of what is kept, in pixels. */
const keptSide = 480;

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('gen3d', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(storeName);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function inStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await open();
  try {
    return await new Promise((resolve, reject) => {
      const request = act(db.transaction(storeName, mode).objectStore(storeName));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  } finally {
    db.close();
  }
}

/** Keeps a small copy of a job's photo. A browser that keeps nothing (a private window) only goes without. */
export async function keepPhoto(jobId: string, photo: Blob): Promise<void> {
  try {
    const bitmap = await createImageBitmap(photo);
    const scale = Math.min(1, keptSide / Math.max(bitmap.width, bitmap.height));
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.round(bitmap.width * scale));
    canvas.height = Math.max(1, Math.round(bitmap.height * scale));
    canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    bitmap.close();
    const small = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/webp', 0.85));
    if (small) await inStore('readwrite', (store) => store.put(small, jobId));
  } catch {
    // No copy, no harm.
  }
}

/** The kept copy of a job's photo, if this browser sent it. */
export async function keptPhoto(jobId: string): Promise<Blob | undefined> {
  return inStore<Blob | undefined>('readonly', (store) => store.get(jobId)).catch(() => undefined);
}

/** Who signs out leaves nothing behind for the next person at this browser. */
export async function forgetPhotos(): Promise<void> {
  await inStore('readwrite', (store) => store.clear()).catch(() => {});
}
