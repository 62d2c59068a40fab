const escaped = (text: string) => text.replace(/[%_\\]/g, '\\$&').replaceAll('\0', '\u2400');

// Patterns for `like … escape '\'`. SQLite would end them at U+0000.

export const containing = (text: string): string => `%${escaped(text)}%`;
export const startingWith = (text: string): string => `${escaped(text)}%`;
