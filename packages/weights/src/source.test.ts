import { expect, test } from 'vitest';
import { viaHub } from './source.js';

const url = new URL('https://huggingface.co/owner/name/resolve/main/model.ckpt');

test('HF_ENDPOINT replaces the URL of Hugging Face, and HF_TOKEN is sent there', () => {
  const { url: mirrored, headers } = viaHub(url, { HF_ENDPOINT: 'http://mirror.local:8080/hub/', HF_TOKEN: 'secret' });
  expect(mirrored.href).toBe('http://mirror.local:8080/hub/owner/name/resolve/main/model.ckpt');
  expect(headers).toEqual({ authorization: 'Bearer secret' });
});

test('without them the URL does not change', () => {
  expect(viaHub(url, {})).toEqual({ url, headers: {} });
});

test('neither applies to another host', () => {
  const other = new URL('https://example.com/model.ckpt');
  expect(viaHub(other, { HF_ENDPOINT: 'http://mirror.local', HF_TOKEN: 'secret' })).toEqual({
    url: other,
    headers: {},
  });
});
