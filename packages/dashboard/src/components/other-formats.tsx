import type { DecodeTexture, ModelFormat } from '@gen3d/convert';
import { type ModelOptionTexts, parseModelOptions } from '@gen3d/convert/options';
import { useState } from 'preact/hooks';
import { saveBlob, zipped } from '../download.js';
import { Problem } from './feedback.js';

/** `extension`: of the downloaded file, because an OBJ consists of several files. */
const formats: { format: ModelFormat; extension: string; use: string }[] = [
  { format: 'obj', extension: 'zip', use: 'OBJ, with texture, as ZIP' },
  { format: 'stl', extension: 'stl', use: 'STL, for 3D printing, 100 mm long' },
  { format: '3mf', extension: '3mf', use: '3MF, for 3D printing with colors, 100 mm long' },
  { format: 'usdz', extension: 'usdz', use: 'USDZ, for AR on Apple devices' },
  { format: 'ply', extension: 'ply', use: 'PLY, with vertex colors' },
];

const decodeTexture: DecodeTexture = async (bytes) => {
  const bitmap = await createImageBitmap(new Blob([bytes as Uint8Array<ArrayBuffer>]));
  const canvas = document.createElement('canvas');
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser cannot read the texture');
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return context.getImageData(0, 0, canvas.width, canvas.height);
};

/**
 * Converts a model in the browser and saves it.
 *
 * @returns sentences about the saved model
 * @throws {Error} if it cannot be fetched or converted, or an option is invalid
 */
async function saveAs(
  glb: string,
  stem: string,
  { format, extension }: (typeof formats)[number],
  texts: ModelOptionTexts,
): Promise<readonly string[]> {
  const options = parseModelOptions(texts, format);
  const response = await fetch(glb);
  if (!response.ok) throw new Error(`The model could not be downloaded: the server responded with ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { convertModel } = await import('@gen3d/convert');
  const { files, notes } = await convertModel(bytes, format, { name: stem, decodeTexture, ...options });
  const content = files.length === 1 ? new Blob([files[0]!.bytes as Uint8Array<ArrayBuffer>]) : await zipped(files);
  saveBlob(content, `${stem}.${extension}`);
  return notes;
}

/** Downloads of the model in other formats. `stem`: the file name without its extension. */
export function OtherFormats({ glb, stem }: { glb: string; stem: string }) {
  const [converting, setConverting] = useState<ModelFormat>();
  const [problem, setProblem] = useState<string>();
  const [notes, setNotes] = useState<readonly string[]>([]);
  const [size, setSize] = useState('');
  const save = async (choice: (typeof formats)[number]) => {
    setConverting(choice.format);
    setProblem(undefined);
    setNotes([]);
    try {
      setNotes(await saveAs(glb, stem, choice, { size: size.trim() || undefined }));
    } catch (error) {
      setProblem((error as Error).message);
    }
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
      <ul>
        {formats.map((choice) => (
          <li key={choice.format}>
            <button type="button" class="quiet" disabled={converting !== undefined} onClick={() => void save(choice)}>
              {converting === choice.format ? 'Converting …' : choice.use}
            </button>
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
