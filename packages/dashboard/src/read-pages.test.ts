import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { readPages } from './read-pages.js';

const Page = z.object({ items: z.array(z.number()), next_cursor: z.optional(z.string()) });
const sizeOf = ({ items }: z.infer<typeof Page>) => items.length;

/** Serves a list in pages of 100, and records the requests. */
function apiWith(total: number) {
  const list = Array.from({ length: total }, (_, index) => index);
  const requests: string[] = [];
  const get = async <T>(path: string, schema: z.ZodMiniType<T>) => {
    requests.push(path);
    const start = Number(new URLSearchParams(path.split('?')[1]).get('cursor'));
    const end = start + 100;
    return schema.parse({ items: list.slice(start, end), ...(end < total && { next_cursor: String(end) }) });
  };
  return { get, list, requests };
}

describe('a list', () => {
  test('is read as far as it is shown, also beyond the first page', async () => {
    const { list, requests, ...api } = apiWith(300);
    const { pages, hasMore } = await readPages(api, '/gallery?group=done', Page, { count: 150, sizeOf });
    expect({ items: pages.flatMap(({ items }) => items), hasMore }).toEqual({
      items: list.slice(0, 200),
      hasMore: true,
    });
    expect(requests).toEqual(['/gallery?group=done', '/gallery?group=done&cursor=100']);
  });

  test('is read to its end', async () => {
    const { list, requests, ...api } = apiWith(110);
    const { pages, hasMore } = await readPages(api, '/ledger?', Page, { count: 250, sizeOf });
    expect({ items: pages.flatMap(({ items }) => items), hasMore }).toEqual({ items: list, hasMore: false });
    expect(requests).toHaveLength(2);
  });
});
