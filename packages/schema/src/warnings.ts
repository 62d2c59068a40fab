/**
 * Explains why a photo may not give a good model: each sentence says what was seen, then what to do. Jobs, and the
 * `asset.extras.warnings` of a GLB, contain the codes. Later versions may add codes.
 */
export const warningMessages = {
  cut_off: 'The object touches the edges of the photo, and what the photo does not show is missing. Leave a margin.',
  several_objects:
    'The model has several parts. If they are several objects, photograph one at a time. If they are parts of one object that fills the photo, leave a margin around it.',
  low_resolution: 'The object is less than 128 pixels in size. Send a larger photo, or one from closer by.',
  framed_cutout:
    'What is not transparent is a rectangle. If the image is a photo with a transparent margin, the model is a flat slab of it: send the photo without transparency.',
  photo_not_used_left:
    'The photo of the left side was not used, because it does not fit the others. Check that it shows the same object, unchanged, from the left.',
  photo_not_used_back:
    'The photo of the back was not used, because it does not fit the others. Check that it shows the same object, unchanged, from behind.',
  photo_not_used_right:
    'The photo of the right side was not used, because it does not fit the others. Check that it shows the same object, unchanged, from the right.',
} as const;

export type PhotoWarning = keyof typeof warningMessages;

/** Describes each warning in a sentence. Omits codes that this version does not know. */
export const describeWarnings = (codes: readonly string[]): string[] =>
  codes.flatMap((code) => (Object.hasOwn(warningMessages, code) ? [warningMessages[code as PhotoWarning]] : []));
