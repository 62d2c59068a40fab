import type { ZodMiniType } from 'zod/mini';
import type { Api } from './api.js';

/**
 * Reads the newest items of a list, at least `count` if there are that many. A page that shows them reads all of
 * them again to keep them up to date.
 *
 * @param path a route with a query
 */
export async function readPages<Page extends { next_cursor?: string | undefined }>(
  api: Pick<Api, 'get'>,
  path: string,
  schema: ZodMiniType<Page>,
  { count, sizeOf }: { count: number; sizeOf: (page: Page) => number },
): Promise<{ pages: Page[]; hasMore: boolean }> {
  const pages: Page[] = [];
  let cursor: string | undefined;
  let size = 0;
  do {
    const page = await api.get(cursor === undefined ? path : `${path}&${new URLSearchParams({ cursor })}`, schema);
    pages.push(page);
    size += sizeOf(page);
    cursor = page.next_cursor;
  } while (cursor !== undefined && size < count);
  return { pages, hasMore: cursor !== undefined };
}
