import type { ImageSize } from '@gen3d/schema';

/** True if a photo of size `header` can become one of size `decoded`: turned by EXIF, and scaled to fit `maxSide`. */
export function isPossibleSize(decoded: ImageSize, header: ImageSize, maxSide: number): boolean {
  const scale = Math.min(1, maxSide / Math.max(header.width, header.height));
  const isNear = (a: number, b: number) => Math.abs(a - Math.max(1, b * scale)) <= 1;
  return (
    (isNear(decoded.width, header.width) && isNear(decoded.height, header.height)) ||
    (isNear(decoded.width, header.height) && isNear(decoded.height, header.width))
  );
}
