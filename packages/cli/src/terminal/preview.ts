import type { Gen3d, Task } from '@gen3d/sdk';
import { isWatched, say } from './terminal.js';

/** How a terminal can be made to show a picture. */
export const pictureWays = ['kitty', 'iterm2', 'sixel', 'blocks'] as const;
export type PictureWay = (typeof pictureWays)[number];

// Half of an 80-column line: a thumbnail, not a poster.
const columns = 32;
// A usual cell is 10 pixels wide; only sixel, which knows no cells, has to know.
const sixelSize = 10 * columns;

/**
 * The task's thumbnail as text for stderr, to be written as it is; undefined where nobody watches, the task has none, or
 * it cannot be had: a picture is never worth an error.
 */
export async function thumbnailPreview(client: Gen3d, task: Task, signal: AbortSignal): Promise<string | undefined> {
  if (!isWatched() || !task.thumbnail_url) return undefined;
  try {
    const jpeg = await client.download(task, { asset: 'thumbnail', signal });
    return await picture(jpeg, await pictureWay(), process.stderr.getColorDepth());
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}

/** Whoever asked for a picture and gets none should not have to guess. Once a call, however many photos it has. */
export function explainNoPreview(): void {
  if (!isWatched()) say('No preview: stderr, where it would be drawn, is not a terminal that shows pictures');
}

/** What this terminal can do, by what it says of itself in variables; GEN3D_PREVIEW decides for one that says nothing. */
export async function pictureWay(env: NodeJS.ProcessEnv = process.env): Promise<PictureWay> {
  const chosen = pictureWays.find((way) => way === env.GEN3D_PREVIEW);
  if (chosen) return chosen;
  // Multiplexers inherit the variables of the terminal around them, and swallow what is not theirs.
  if (env.TMUX || env.STY) return 'blocks';
  const { createSupportsTerminalGraphics } = await import('supports-terminal-graphics');
  const supports = createSupportsTerminalGraphics(process.stderr);
  return (['kitty', 'iterm2', 'sixel'] as const).find((way) => supports[way]) ?? 'blocks';
}

/**
 * A picture as text for a terminal.
 *
 * @param image the bytes of a JPEG, PNG or WebP
 * @param colorDepth bits, as `tty.WriteStream.getColorDepth` tells; only `blocks` need it
 */
export async function picture(image: Uint8Array, way: PictureWay, colorDepth: number): Promise<string> {
  const { default: sharp } = await import('sharp');
  const source = sharp(image);
  switch (way) {
    case 'kitty':
      return kitty(await source.resize(sixelSize).png().toBuffer());
    case 'iterm2': {
      const png = await source.resize(sixelSize).png().toBuffer();
      const place = `width=${columns};preserveAspectRatio=1`;
      return `\x1b]1337;File=inline=1;size=${png.length};${place}:${png.toString('base64')}\x07`;
    }
    case 'sixel': {
      const { data, info } = await source.resize(sixelSize).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
      const { image2sixel } = await import('sixel');
      return image2sixel(new Uint8Array(data), info.width, info.height, 256, 1);
    }
    case 'blocks': {
      const { data, info } = await source.resize(columns).removeAlpha().raw().toBuffer({ resolveWithObject: true });
      return blocks(data, info.width, info.height, colorDepth);
    }
  }
}

/** https://sw.kovidgoyal.net/kitty/graphics-protocol: base64 in pieces of 4096, all but the last with m=1. */
function kitty(png: Buffer): string {
  const pieces = png.toString('base64').match(/.{1,4096}/g) ?? [];
  return pieces
    .map((piece, index) => {
      const more = index < pieces.length - 1 ? 1 : 0;
      // f=100: a PNG; a=T: show it at once; q=2: no answer, which a shell would take for typing.
      return `\x1b_G${index === 0 ? `f=100,a=T,q=2,c=${columns},` : ''}m=${more};${piece}\x1b\\`;
    })
    .join('');
}

/** Two pixels a character: the upper half of the cell in the foreground's colour, the lower in the background's. */
function blocks(rgb: Uint8Array, width: number, height: number, colorDepth: number): string {
  const color = (x: number, y: number) => {
    const at = 3 * (Math.min(y, height - 1) * width + x);
    const [red = 0, green = 0, blue = 0] = rgb.subarray(at, at + 3);
    return colorDepth >= 24 ? `2;${red};${green};${blue}` : `5;${paletteColor(red, green, blue)}`;
  };
  const lines = Array.from({ length: Math.ceil(height / 2) }, (_, row) => {
    const cells = Array.from({ length: width }, (_, x) => `\x1b[38;${color(x, 2 * row)};48;${color(x, 2 * row + 1)}m▀`);
    return `${cells.join('')}\x1b[0m`;
  });
  return lines.join('\n');
}

/** The nearest of xterm's 6x6x6 cube of colours, which begins at 16. */
function paletteColor(red: number, green: number, blue: number): number {
  const step = (value: number) => Math.round((value / 255) * 5);
  return 16 + 36 * step(red) + 6 * step(green) + step(blue);
}
