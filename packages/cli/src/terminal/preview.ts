import type { Gen3d, Task } from '@gen3d/sdk';
import { isInteractive, say } from './terminal.js';

/** The graphics protocols of terminals. `blocks` are colored characters, which every terminal supports. */
const protocols = ['kitty', 'iterm2', 'sixel', 'blocks'] as const;
export type GraphicsProtocol = (typeof protocols)[number];

// Less than half of an 80-column line.
const columns = 32;
// A typical cell is 10 pixels wide. Sixel has a size in pixels instead of cells.
const imageWidth = 10 * columns;

/**
 * The task's thumbnail as text for stderr. Undefined if stderr is not a terminal, the task has no thumbnail, or the
 * download fails.
 */
export async function thumbnailPreview(client: Gen3d, task: Task, signal: AbortSignal): Promise<string | undefined> {
  if (!isInteractive() || !task.thumbnail_url) return undefined;
  try {
    const jpeg = await client.download(task, { asset: 'thumbnail', signal });
    return await renderImage(jpeg, await graphicsProtocol(), process.stderr.getColorDepth());
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}

/** Explains the missing preview if stderr is not a terminal. */
export function explainNoPreview(): void {
  if (!isInteractive()) say('No preview: stderr is not a terminal');
}

/** Detects the terminal's graphics protocol from environment variables. GEN3D_PREVIEW overrides it. */
export async function graphicsProtocol(env: NodeJS.ProcessEnv = process.env): Promise<GraphicsProtocol> {
  const chosen = protocols.find((protocol) => protocol === env.GEN3D_PREVIEW);
  if (chosen) return chosen;
  // Multiplexers inherit the variables of the outer terminal but discard its graphics.
  if (env.TMUX || env.STY) return 'blocks';
  const { createSupportsTerminalGraphics } = await import('supports-terminal-graphics');
  const supports = createSupportsTerminalGraphics(process.stderr);
  return (['kitty', 'iterm2', 'sixel'] as const).find((protocol) => supports[protocol]) ?? 'blocks';
}

/**
 * Renders an image as text for a terminal.
 *
 * @param image the bytes of a JPEG, PNG or WebP
 * @param colorDepth bits per pixel, from `tty.WriteStream.getColorDepth`; used only for `blocks`
 */
export async function renderImage(image: Uint8Array, protocol: GraphicsProtocol, colorDepth: number): Promise<string> {
  const { default: sharp } = await import('sharp');
  const source = sharp(image);
  switch (protocol) {
    case 'kitty':
      return kitty(await source.resize(imageWidth).png().toBuffer());
    case 'iterm2': {
      const png = await source.resize(imageWidth).png().toBuffer();
      const size = `size=${png.length};width=${columns};preserveAspectRatio=1`;
      return `\x1b]1337;File=inline=1;${size}:${png.toString('base64')}\x07`;
    }
    case 'sixel': {
      const { data, info } = await source.resize(imageWidth).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
      const { image2sixel } = await import('sixel');
      return image2sixel(new Uint8Array(data), info.width, info.height, 256, 1);
    }
    case 'blocks': {
      const { data, info } = await source.resize(columns).removeAlpha().raw().toBuffer({ resolveWithObject: true });
      return blocks(data, info.width, info.height, colorDepth);
    }
  }
}

/** https://sw.kovidgoyal.net/kitty/graphics-protocol: base64 in pieces of up to 4096 characters, m=1 on all but the last. */
function kitty(png: Buffer): string {
  const pieces = png.toString('base64').match(/.{1,4096}/g) ?? [];
  return pieces
    .map((piece, index) => {
      const more = index < pieces.length - 1 ? 1 : 0;
      // f=100: PNG; a=T: display immediately; q=2: no reply, which the shell would read as input.
      return `\x1b_G${index === 0 ? `f=100,a=T,q=2,c=${columns},` : ''}m=${more};${piece}\x1b\\`;
    })
    .join('');
}

/** Draws two pixels per character: the upper half of the cell in the foreground color, the lower in the background color. */
function blocks(rgb: Uint8Array, width: number, height: number, colorDepth: number): string {
  const color = (x: number, y: number) => {
    const offset = 3 * (Math.min(y, height - 1) * width + x);
    const [red = 0, green = 0, blue = 0] = rgb.subarray(offset, offset + 3);
    return colorDepth >= 24 ? `2;${red};${green};${blue}` : `5;${paletteColor(red, green, blue)}`;
  };
  const lines = Array.from({ length: Math.ceil(height / 2) }, (_, row) => {
    const cells = Array.from({ length: width }, (_, x) => `\x1b[38;${color(x, 2 * row)};48;${color(x, 2 * row + 1)}m▀`);
    return `${cells.join('')}\x1b[0m`;
  });
  return lines.join('\n');
}

/** The nearest color of xterm's 6x6x6 color cube, which starts at index 16. */
function paletteColor(red: number, green: number, blue: number): number {
  const level = (value: number) => Math.round((value / 255) * 5);
  return 16 + 36 * level(red) + 6 * level(green) + level(blue);
}
