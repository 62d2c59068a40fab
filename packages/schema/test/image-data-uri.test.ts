import { expect, test } from 'vitest';
import { parseImageDataUri } from '../src/image-data-uri.js';

test.each([
  ['data:image/jpg;base64,AAAA', 'has the media type image/jpg. Write image/jpeg'],
  ['data:image/gif;base64,AAAA', 'must have the form data:image/(png|jpeg|webp);base64,<data>'],
  ['data:image/png;base64,AAAA\nAAAA', 'contains white space. Write its base64 on one line, as `base64 -w0` does'],
  ['data:image/png;base64,AA_-', 'is base64url. Write + and / instead of - and _'],
  ['data:image/png;base64,AAA', 'does not contain valid base64'],
])('%j is refused with its cause', (uri, problem) => {
  expect(parseImageDataUri(uri)).toEqual({ problem });
});
