/** An sRGB picture, 8 bits a channel, straight (not premultiplied) alpha, rows from the top: `data` is [4·width·height]. */
export interface RgbaImage {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** Foreground coverage of a picture of the same size, 0 background .. 255 object: `data` is [width·height]. */
export interface Matte {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/**
 * The object cut out of its photo, in the middle of a square: the frame a reconstruction network looks at.
 *
 * `image.width === image.height`; alpha is the matte; RGB is the object's own colour also where alpha is partial
 * (the background's share is removed), and is extended outwards past the silhouette so that sampling near it never
 * picks up background.
 */
export interface Cutout {
  readonly image: RgbaImage;
}
