import { HttpResponse, http } from 'msw';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { type CreateJobParams, createJobRequest, type Views } from '../src/index.js';
import { photoOfPhone, sent } from './photos.js';
import { client, jobId, jpeg, misbehavingServer, origin, succeeded } from './server.js';

const server = misbehavingServer();
const jpegUri = `data:image/jpeg;base64,${Buffer.from(jpeg).toString('base64')}`;

interface Body {
  input: { image_urls: string[]; views?: Record<string, string> };
}

/** Creates jobs. @returns the texts of the requests */
function received(): string[] {
  const texts: string[] = [];
  server.use(
    http.post(`${origin}/v1/jobs`, async ({ request }) => {
      texts.push(await request.text());
      return HttpResponse.json({ job_id: jobId }, { status: 202 });
    }),
    http.get(`${origin}/v1/jobs/${jobId}`, () => HttpResponse.json(succeeded)),
  );
  return texts;
}

test('photos of other sides travel beside the front, each in any form that the front may have', async () => {
  const texts = received();
  const views = { left: new Blob([jpeg]), back: jpegUri, right: 'https://shop.example/right.jpg' };
  await client().generate(jpeg, { views });
  await client().jobs.create({ image: jpeg, views: { back: jpeg, left: undefined } });
  await client().jobs.create({ image: jpeg, views: {} });
  expect(texts.map((text) => (JSON.parse(text) as Body).input)).toEqual([
    { image_urls: [jpegUri], views: { left: jpegUri, back: jpegUri, right: views.right } },
    { image_urls: [jpegUri], views: { back: jpegUri } },
    { image_urls: [jpegUri] },
  ]);
  const { json } = await createJobRequest({ image: jpeg, views: { right: jpeg } });
  expect(json.input).toEqual({ image_urls: [jpegUri], views: { right: jpegUri } });
});

test('photos that are given as URLs take no room in the request', async () => {
  const photo = new Blob([jpeg, new Uint8Array(3.5 * 1024 ** 2)]);
  const views = { left: 'https://shop.example/left.jpg', back: new URL('https://shop.example/back.jpg') };
  const { json } = await createJobRequest({ image: photo, views });
  expect(Buffer.from(json.input.image_urls[0]!.split(',')[1]!, 'base64')).toHaveLength(photo.size);
});

describe('these are rejected without a request, with the name of the side:', () => {
  test.each<[string, unknown, RegExp]>([
    ['a path that does not exist', { left: '/photos/l.jpg' }, /^views\.left: \/photos\/l\.jpg does not exist$/],
    ['a PDF', { back: Buffer.from('%PDF-1.7') }, /^views\.back: The image is a PDF document/],
    ['null', { right: null }, /^views\.right: image is of type Null/],
    ['another side', { top: jpeg }, /^views\.top is not a side\. The sides are left, back, right$/],
  ])('%s', async (_, views, message) => {
    const params = { image: jpeg, views: views as Views } satisfies CreateJobParams;
    await expect(client().jobs.create(params)).rejects.toMatchObject({
      name: 'InvalidRequestError',
      message: expect.stringMatching(message),
    });
  });
});

describe('four photos that are too large for one request', () => {
  test('are scaled until they fit together', { tags: 'slow' }, async () => {
    const photo = new Blob([new Uint8Array(await photoOfPhone(2900))]);
    expect(photo.size).toBeGreaterThan(2 * 1024 ** 2);
    const texts = received();
    await client().jobs.create({ image: photo, views: { left: photo, back: photo, right: jpeg } });
    const [text = ''] = texts;
    expect(text.length).toBeLessThan(8 * 1024 ** 2);
    const { input } = JSON.parse(text) as Body;
    for (const uri of [...input.image_urls, input.views?.left, input.views?.back]) {
      expect(await sent(uri ?? '')).toMatchObject({ width: 2048, height: 1536 });
    }
    expect(input.views?.right).toBe(jpegUri);
  });

  test('are refused where they cannot be scaled', async () => {
    const png = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#f00' } })
      .png()
      .toBuffer();
    const large = Buffer.concat([png, Buffer.alloc(2 * 1024 ** 2)]);
    const broken = Object.assign(() => {
      throw new Error('broken');
    });
    const create = client({ sharp: broken }).jobs.create({ image: large, views: { left: large, back: large } });
    await expect(create).rejects.toThrow(
      /^The image is 2\.0 MiB, more than the 1\.9 MiB that fit in a request, .* here: broken\. Send a/,
    );
  });
});
