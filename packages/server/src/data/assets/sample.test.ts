import { expect, test } from 'vitest';
import { site } from '../../../test/kit.js';
import { visibilityProblem } from './sample.js';

test('public assets cause no warning', async () => {
  const url = await site((_request, response) => response.end('glTF'));
  expect(await visibilityProblem(`${url}/sample/model.glb`)).toBeUndefined();
});

test('private or unreachable assets cause a warning that says what to do', async () => {
  const url = `${await site((_request, response) => response.writeHead(403).end())}/sample/model.glb`;
  expect(await visibilityProblem(url)).toContain(
    `The assets are not public: ${url} returned HTTP 403; see docs/operations/s3.md`,
  );
  expect(await visibilityProblem('http://127.0.0.1:1/model.glb')).toContain(
    'no response from http://127.0.0.1:1; see docs',
  );
});
