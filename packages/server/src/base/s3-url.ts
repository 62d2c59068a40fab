export interface S3Location {
  bucket: string;
  /** All our keys start with this. It is empty, or ends with a slash. */
  prefix: string;
}

export const isS3Url = (location: string): boolean => location.startsWith('s3://');

/** Bucket names by S3's rules. A prefix has only characters that URLs do not escape, since keys become URLs. */
const pattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.-]+)*)\/?$/;

/** Parses `s3://bucket` or `s3://bucket/prefix`. Undefined if it is neither. */
export function parseS3Url(url: string): S3Location | undefined {
  const match = pattern.exec(url);
  if (!match) return undefined;
  const [, bucket = '', path = ''] = match;
  // Browsers and proxies resolve these segments before the store sees them.
  if (path.split('/').some((part) => part === '.' || part === '..')) return undefined;
  return { bucket, prefix: path ? `${path.slice(1)}/` : '' };
}
