import { parseLength, type RealSize } from '@gen3d/schema/rules';
import { ConversionError } from './conversion-error.js';
import { levelName, objNames } from './file-names.js';

export { ConversionError, parseLength, type RealSize };

export const modelFormats = ['glb', 'obj', 'stl', '3mf', 'usdz'] as const;
export type ModelFormat = (typeof modelFormats)[number];

/** Slicers read these formats, whose unit is the millimeter. */
export const printFormats: readonly ModelFormat[] = ['stl', '3mf'];

/** Without a size, the longest side of a model for printing gets this length, in meters. */
export const defaultPrintSize = 0.1;

/** How the written model differs from the GLB. */
export interface ModelOptions {
  /** Undefined keeps the size of the GLB. If the GLB does not state a real size, a model for printing gets 100 mm. */
  readonly size?: RealSize;
  /** Which axis points up. Default: the usual one of the format. */
  readonly up?: 'y' | 'z';
  /** `flat` cuts the lowest part off, so that the printed model stands. */
  readonly base?: 'flat';
  /** How many triangles the model may have at most. */
  readonly triangles?: number;
  /** The longest side of a texture, in pixels. Smaller textures stay as they are. */
  readonly texture?: number;
  /** Converts the textures to this format. Default: they stay as they are. */
  readonly textureFormat?: 'jpeg' | 'webp';
  /** Compresses the geometry. With `none`, the default, a GLB needs no decoder. */
  readonly compress?: 'meshopt' | 'draco' | 'none';
  /** How many further GLBs to make. Each has half the triangles of the one before, and textures with half its side. */
  readonly lod?: number;
}

/** An option as people write it, on the command line or in a form. */
interface OptionText {
  /** Declares the flag of the command line, in commander's syntax. */
  readonly flag: string;
  readonly description: string;
  /** The option has an effect only with these formats. */
  readonly formats: readonly ModelFormat[];
  /** The allowed values, if there are few. */
  readonly choices?: readonly string[];
  /** @throws {ConversionError} that says what is wrong with the text, without the name of the option */
  readonly parse: (text: string) => ModelOptions;
}

const sized = (side: RealSize['side']) => (text: string) => {
  try {
    return { size: { side, meters: parseLength(text) } };
  } catch (error) {
    throw new ConversionError((error as Error).message, { cause: error });
  }
};

const countFrom = (min: number, max: number, text: string) => {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (count >= min && count <= max) return count;
  throw new ConversionError(`"${text}" is not a whole number from ${min} to ${max.toLocaleString('en')}`);
};

/** All options of a conversion: the command line, its help and its checks follow from this table. */
export const modelOptions = {
  size: {
    flag: '--size <length>',
    description: 'longest side of the model, such as 80mm, 8cm, 0.3m or 3in (.stl, .3mf: 100mm if the GLB states none)',
    formats: modelFormats,
    parse: sized('longest'),
  },
  height: {
    flag: '--height <length>',
    description: 'its height instead',
    formats: modelFormats,
    parse: sized('height'),
  },
  width: {
    flag: '--width <length>',
    description: 'its width instead, seen from the front',
    formats: modelFormats,
    parse: sized('width'),
  },
  up: {
    flag: '--up <axis>',
    description: 'axis that points up (.obj: y; .stl: z)',
    formats: ['obj', 'stl'],
    choices: ['y', 'z'],
    parse: (text) => ({ up: text as 'y' | 'z' }),
  },
  base: {
    flag: '--base <kind>',
    description: 'shape of the foot that is cut for printing',
    formats: printFormats,
    choices: ['flat'],
    parse: (text) => ({ base: text as 'flat' }),
  },
  triangles: {
    flag: '--triangles <n>',
    description: 'at most this many triangles',
    formats: modelFormats,
    parse: (text) => ({ triangles: countFrom(4, 10_000_000, text) }),
  },
  texture: {
    flag: '--texture <pixels>',
    description: 'longest side of the texture',
    formats: ['glb', 'obj', '3mf', 'usdz'],
    parse: (text) => ({ texture: countFrom(1, 16_384, text) }),
  },
  textureFormat: {
    flag: '--texture-format <format>',
    description: 'format of the texture',
    formats: ['glb'],
    choices: ['jpeg', 'webp'],
    parse: (text) => ({ textureFormat: text as 'jpeg' | 'webp' }),
  },
  compress: {
    flag: '--compress <method>',
    description: 'compression of the triangles, which viewers must support',
    formats: ['glb'],
    choices: ['meshopt', 'draco', 'none'],
    parse: (text) => ({ compress: text as 'meshopt' | 'draco' | 'none' }),
  },
  lod: {
    flag: '--lod <n>',
    description: 'levels of detail: n further GLBs, each with half the triangles of the one before',
    formats: ['glb'],
    parse: (text) => ({ lod: countFrom(1, 8, text) }),
  },
} as const satisfies Record<string, OptionText>;

/** Values of options as a user typed them, by their names in `modelOptions`. */
export type ModelOptionTexts = { readonly [name in keyof typeof modelOptions]?: string | undefined };

/** Returns the options that were given, with their rows of the table. */
export function givenOptions(texts: ModelOptionTexts): { row: OptionText; text: string }[] {
  return Object.entries(modelOptions).flatMap(([name, row]) => {
    const text = texts[name as keyof ModelOptionTexts];
    return text === undefined ? [] : [{ row, text }];
  });
}

/**
 * Reads the options of a conversion to `format`.
 *
 * @throws {ConversionError} if a value is invalid, the format cannot express it, or two options contradict each other
 */
export function parseModelOptions(texts: ModelOptionTexts, format: ModelFormat): ModelOptions {
  const options: ModelOptions = {};
  for (const { row, text } of givenOptions(texts)) {
    const [name] = row.flag.split(' ');
    if (!row.formats.includes(format)) {
      throw new ConversionError(
        `${name} does not apply to .${format}, only to ${row.formats.map((one) => `.${one}`).join(', ')}`,
      );
    }
    if (row.choices && !row.choices.includes(text)) {
      throw new ConversionError(`${name} ${text} is not possible. Use ${row.choices.join(' or ')}`);
    }
    const parsed = named(name, () => row.parse(text));
    if (parsed.size && options.size) throw new ConversionError('Use only one of --size, --height and --width');
    Object.assign(options, parsed);
  }
  return options;
}

function named<T>(name: string | undefined, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof ConversionError ? new ConversionError(`${name}: ${error.message}`) : error;
  }
}

/**
 * Returns the names of the files that a conversion writes besides the model, as far as they do not depend on the model.
 * The GLBs of gen3d have one texture, a JPEG.
 */
export function companionNames(name: string, format: ModelFormat, { lod = 0 }: ModelOptions): string[] {
  if (format === 'obj') return [objNames(name).material, objNames(name).texture(0, 'jpg')];
  return Array.from({ length: format === 'glb' ? lod : 0 }, (_, index) => levelName(name, index + 1));
}
