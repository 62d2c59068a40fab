const hub = 'https://huggingface.co';

/**
 * The address and headers with which a file is requested. HF_ENDPOINT replaces Hugging Face's address by a mirror's, and
 * HF_TOKEN is sent there, as the tools of that ecosystem do.
 */
export function viaHub(
  url: URL,
  { HF_ENDPOINT, HF_TOKEN }: Readonly<Record<string, string | undefined>> = process.env,
): { readonly url: URL; readonly headers: Readonly<Record<string, string>> } {
  if (url.origin !== hub) return { url, headers: {} };
  const endpoint = (HF_ENDPOINT || hub).replace(/\/+$/, '');
  return {
    url: new URL(endpoint + url.pathname + url.search),
    headers: HF_TOKEN ? { authorization: `Bearer ${HF_TOKEN}` } : {},
  };
}
