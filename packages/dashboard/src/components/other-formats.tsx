import type { ModelFormat } from '@gen3d/convert';
import { type ModelOptions, parseLength, printFormats } from '@gen3d/convert/options';
import { useState } from 'preact/hooks';
import { saveBlob, zipped } from '../download.js';
import { Button } from './buttons.js';
import { Problem, useAction } from './feedback.js';

/** `extension` is that of the downloaded file, because an OBJ consists of several files. */
const formats: { format: ModelFormat; extension: string; use: string }[] = [
  { format: 'obj', extension: 'zip', use: 'OBJ, with texture, as ZIP' },
  { format: 'stl', extension: 'stl', use: 'STL, for 3D printing' },
  { format: '3mf', extension: '3mf', use: '3MF, for 3D printing with colors' },
  { format: 'usdz', extension: 'usdz', use: 'USDZ, for AR on Apple devices' },
];

/** Converts the job's thumbnail to PNG, which a 3MF needs. */
async function thumbnailPng(url: string): Promise<Uint8Array> {
  const bitmap = await createImageBitmap(await (await fetch(url)).blob());
  const canvas = document.createElement('canvas');
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
  bitmap.close();
  const png = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
  if (!png) throw new Error('This browser cannot write the thumbnail');
  return new Uint8Array(await png.arrayBuffer());
}

interface Source {
  readonly glb: string;
  readonly thumbnail: string | undefined;
  /** The file name without its extension. */
  readonly stem: string;
}

/**
 * Converts a model in the browser and saves it.
 *
 * @returns sentences about the saved model
 * @throws {Error} if it cannot be fetched or converted
 */
async function saveAs(
  { glb, thumbnail, stem }: Source,
  { format, extension }: (typeof formats)[number],
  options: ModelOptions,
): Promise<readonly string[]> {
  const response = await fetch(glb);
  if (!response.ok) throw new Error(`The model could not be downloaded: the server responded with ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { convertModel } = await import('@gen3d/convert');
  const { files, notes } = await convertModel(bytes, format, {
    name: stem,
    ...(thumbnail !== undefined && { renderThumbnail: () => thumbnailPng(thumbnail) }),
    ...options,
  });
  const content = files.length === 1 ? new Blob([files[0]!.bytes as Uint8Array<ArrayBuffer>]) : await zipped(files);
  saveBlob(content, `${stem}.${extension}`);
  return notes;
}

export function OtherFormats(source: Source) {
  const [converting, setConverting] = useState<ModelFormat>();
  const { problem, run } = useAction();
  const [notes, setNotes] = useState<readonly string[]>([]);
  const [size, setSize] = useState('');
  const [isFlat, setFlat] = useState(false);
  const save = async (choice: (typeof formats)[number]) => {
    setConverting(choice.format);
    setNotes([]);
    await run(async () =>
      setNotes(
        await saveAs(source, choice, {
          ...(size.trim() && { size: { side: 'longest', meters: parseLength(size) } }),
          ...(isFlat && printFormats.includes(choice.format) && { base: 'flat' }),
        }),
      ),
    );
    setConverting(undefined);
  };
  return (
    <details class="formats">
      <summary class="button">Other formats</summary>
      <label>
        Longest side
        <input
          value={size}
          placeholder="As it is; 100mm for 3D printing. Or 80mm, 8cm, 0.3m, 3in"
          onInput={({ currentTarget }) => setSize(currentTarget.value)}
        />
      </label>
      <label class="check">
        <input type="checkbox" checked={isFlat} onInput={({ currentTarget }) => setFlat(currentTarget.checked)} />
        For 3D printing, cut a flat base
      </label>
      <ul>
        {formats.map((choice) => (
          <li key={choice.format}>
            <Button
              label={converting === choice.format ? 'Converting …' : choice.use}
              class="quiet"
              disabled={converting !== undefined}
              onClick={() => void save(choice)}
            />
          </li>
        ))}
      </ul>
      <div role="status">
        {notes.map((note) => (
          <p key={note}>{note}</p>
        ))}
      </div>
      <Problem text={problem} />
    </details>
  );
}
