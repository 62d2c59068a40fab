/**
 * The sides of an object that further photos may show, beside the front. Left is where the photographer of the front
 * finds it: the photo is taken from where the left edge of the front photo is.
 */
export const viewSides = ['left', 'back', 'right'] as const;
export type ViewSide = (typeof viewSides)[number];

/** All sides of which a job may have a photo. Every job has one of the front. */
export const photoSides = ['front', ...viewSides] as const;
export type PhotoSide = (typeof photoSides)[number];
