// Decodes formats that not all browsers support, in a separate thread, because a large photo takes seconds.
import { isDisplayP3 } from '@gen3d/schema/rules';
import glueUrl from 'libheif-js/libheif-wasm/libheif.js?url';
import wasmUrl from 'libheif-js/libheif-wasm/libheif.wasm?url';
import UTIF from 'utif2';

export type PhotoRequest = { readonly format: 'heic' | 'tiff'; readonly file: ArrayBuffer };

/** Upright RGBA, 8 bits per channel. Undefined if the photo is damaged or uses a feature that the decoder lacks. */
export type PhotoResponse =
  | {
      readonly rgba: ArrayBuffer;
      readonly width: number;
      readonly height: number;
      readonly colorSpace: PredefinedColorSpace;
    }
  | undefined;

/** Declares the functions of libheif that are used here. */
interface Libheif {
  readonly HeifDecoder: new () => { decode(file: ArrayBuffer): readonly HeifImage[] };
}
interface HeifImage {
  is_primary(): boolean;
  get_width(): number;
  get_height(): number;
  /** Calls back with null if it fails. Also rotates and mirrors the photo as its container says. */
  display(target: { data: Uint8ClampedArray; width: number; height: number }, done: (result: unknown) => void): void;
}

declare function importScripts(url: string): void;
declare const libheif: (options: { locateFile: () => string }) => Libheif;

/** Loads libheif as the unmodified files of its package, as the LGPL requires. In a worker, it loads synchronously. */
function loadLibheif(): Libheif {
  importScripts(glueUrl);
  return libheif({ locateFile: () => wasmUrl });
}

async function decodeHeic(file: ArrayBuffer): Promise<PhotoResponse> {
  const { HeifDecoder } = loadLibheif();
  const images = new HeifDecoder().decode(file);
  const image = images.find((one) => one.is_primary()) ?? images[0];
  if (!image) return undefined;
  const [width, height] = [image.get_width(), image.get_height()];
  const data = new Uint8ClampedArray(4 * width * height);
  const decoded = await new Promise((resolve) => image.display({ data, width, height }, resolve));
  if (!decoded) return undefined;
  return { rgba: data.buffer, width, height, colorSpace: isDisplayP3(new Uint8Array(file)) ? 'display-p3' : 'srgb' };
}

function decodeTiff(file: ArrayBuffer): PhotoResponse {
  // The first page may be a thumbnail of the photo.
  const [page] = UTIF.decode(file).toSorted((a, b) => sizeOf(b) - sizeOf(a));
  if (!page || isFloatingPoint(page)) return undefined;
  UTIF.decodeImage(file, page);
  const pixels = new Uint32Array(UTIF.toRGBA8(page).slice().buffer);
  if (pixels.length === 0) return undefined;
  const [orientation = 1] = (page.t274 as number[] | undefined) ?? [];
  return upright(pixels, page.width, page.height, orientation);
}

const tagOf = (page: UTIF.IFD, tag: 't256' | 't257' | 't339') => Number((page[tag] as number[] | undefined)?.[0] ?? 0);
const sizeOf = (page: UTIF.IFD) => tagOf(page, 't256') * tagOf(page, 't257');
/** Of such pixels it is not known which value is white. */
const isFloatingPoint = (page: UTIF.IFD) => tagOf(page, 't339') === 3;

/** Applies an orientation of EXIF and TIFF, 1 to 8. `pixels` has one element per pixel. */
function upright(pixels: Uint32Array, width: number, height: number, orientation: number): PhotoResponse {
  const isTransposed = orientation >= 5;
  const mirrorsX = [2, 3, 7, 8].includes(orientation);
  const mirrorsY = [3, 4, 6, 7].includes(orientation);
  const [newWidth, newHeight] = isTransposed ? [height, width] : [width, height];
  const result = new Uint32Array(pixels.length);
  for (let y = 0; y < newHeight; y++) {
    for (let x = 0; x < newWidth; x++) {
      const [u, v] = isTransposed ? [y, x] : [x, y];
      const from = (mirrorsY ? height - 1 - v : v) * width + (mirrorsX ? width - 1 - u : u);
      result[y * newWidth + x] = pixels[from] ?? 0;
    }
  }
  return { rgba: result.buffer, width: newWidth, height: newHeight, colorSpace: 'srgb' };
}

addEventListener('message', async ({ data: { format, file } }: MessageEvent<PhotoRequest>) => {
  let photo: PhotoResponse;
  try {
    photo = format === 'heic' ? await decodeHeic(file) : decodeTiff(file);
  } catch {
    photo = undefined;
  }
  postMessage(photo, { transfer: photo ? [photo.rgba] : [] });
});
