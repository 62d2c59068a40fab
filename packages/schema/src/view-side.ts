/**
 * The sides of an object that further photos may show, beside the front. Left is where the photographer of the front
 * finds it: the photo is taken from where the left edge of the front photo is.
 */
export const viewSides = ['left', 'back', 'right'] as const;
export type ViewSide = (typeof viewSides)[number];
