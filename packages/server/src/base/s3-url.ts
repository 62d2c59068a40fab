/** A bucket, and what every key in it that is ours begins with: empty, or ending in a slash. */
export interface S3Location {
  bucket: string;
  prefix: string;
}

export const isS3Url = (location: string): boolean => location.startsWith('s3://');

/** Names by S3's rules; in a prefix only what a URL shows as it is, because keys become permanent URLs. */
const pattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.-]+)*)\/?$/;

/** Reads `s3://bucket` or `s3://bucket/prefix`; undefined when it is neither. */
export function parseS3Url(url: string): S3Location | undefined {
  const match = pattern.exec(url);
  if (!match) return undefined;
  const [, bucket = '', path = ''] = match;
  // Browsers and proxies resolve these before the store sees them.
  if (path.split('/').some((part) => part === '.' || part === '..')) return undefined;
  return { bucket, prefix: path ? `${path.slice(1)}/` : '' };
}
