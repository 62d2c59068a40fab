import { expect, test } from 'vitest';
import { site } from '../../../test/kit.js';
import { whyHidden } from './visibility.js';

test('assets that anybody can read are not complained about', async () => {
  const url = await site((_request, response) => response.end('glTF'));
  expect(await whyHidden(`${url}/sample/model.glb`)).toBeUndefined();
});

test('assets that are private, or whose address nobody answers at, are named with what to do', async () => {
  const url = `${await site((_request, response) => response.writeHead(403).end())}/sample/model.glb`;
  expect(await whyHidden(url)).toContain(
    `Nobody can read the assets: ${url} answers HTTP 403; see docs/operations/s3.md`,
  );
  expect(await whyHidden('http://127.0.0.1:1/model.glb')).toContain('no answer from http://127.0.0.1:1; see docs');
});
