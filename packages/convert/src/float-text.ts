/** A number with the 7 significant digits of a float32. */
export const floatText = (value: number): string => String(Number(value.toPrecision(7)));
