// Whether a file is complete, judged by its format.

export const isWholeGlb = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 4) === 'glTF' && bytes.readUInt32LE(8) === bytes.length;

export const isWholeJpeg = (bytes: Buffer): boolean =>
  bytes.toString('hex', 0, 2) === 'ffd8' && bytes.toString('hex', bytes.length - 2) === 'ffd9';
