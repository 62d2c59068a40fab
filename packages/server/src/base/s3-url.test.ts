import { expect, test } from 'vitest';
import { parseS3Url } from './s3-url.js';

test.each([
  ['s3://models', { bucket: 'models', prefix: '' }],
  ['s3://models/', { bucket: 'models', prefix: '' }],
  ['s3://my.models-1/gen3d', { bucket: 'my.models-1', prefix: 'gen3d/' }],
  ['s3://models/a/b_c.d/', { bucket: 'models', prefix: 'a/b_c.d/' }],
])('%s names a bucket and a prefix', (url, location) => expect(parseS3Url(url)).toEqual(location));

test.each([
  's3://',
  's3://UPPER',
  's3://ab',
  's3://models//a',
  's3://models/../other',
  's3://models/a b',
  's3://models/a?b',
  's3://key:secret@models/a',
  '/folder',
])('%s is not valid', (url) => expect(parseS3Url(url)).toBeUndefined());
