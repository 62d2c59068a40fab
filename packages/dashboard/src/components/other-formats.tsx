import type { DecodeTexture, ModelFormat } from '@gen3d/convert';
import { useRef, useState } from 'preact/hooks';
import { saveBlob, zipped } from '../download.js';
import { Problem } from './feedback.js';

/** `extension`: of the downloaded file, because an OBJ consists of several files. */
const formats: { format: ModelFormat; extension: string; use: string }[] = [
  { format: 'obj', extension: 'zip', use: 'OBJ, with texture, as ZIP' },
  { format: 'stl', extension: 'stl', use: 'STL, for 3D printing, 100 mm long' },
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

/** Converts a model in the browser and saves it. @throws {Error} if it cannot be fetched or converted */
async function saveAs(glb: string, stem: string, { format, extension }: (typeof formats)[number]): Promise<void> {
  const response = await fetch(glb);
  if (!response.ok) throw new Error(`The model could not be downloaded: the server responded with ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { convertModel } = await import('@gen3d/convert');
  const { files } = await convertModel(bytes, format, { name: stem, decodeTexture });
  const content = files.length === 1 ? new Blob([files[0]!.bytes as Uint8Array<ArrayBuffer>]) : await zipped(files);
  saveBlob(content, `${stem}.${extension}`);
}

/** Downloads of the model in other formats. `stem`: the file name without its extension. */
export function OtherFormats({ glb, stem }: { glb: string; stem: string }) {
  const details = useRef<HTMLDetailsElement>(null);
  const [converting, setConverting] = useState<ModelFormat>();
  const [problem, setProblem] = useState<string>();
  const save = async (choice: (typeof formats)[number]) => {
    setConverting(choice.format);
    setProblem(undefined);
    try {
      await saveAs(glb, stem, choice);
      if (details.current) details.current.open = false;
    } catch (error) {
      setProblem((error as Error).message);
    }
    setConverting(undefined);
  };
  return (
    <details class="formats" ref={details}>
      <summary class="button">Other formats</summary>
      <ul>
        {formats.map((choice) => (
          <li key={choice.format}>
            <button type="button" class="quiet" disabled={converting !== undefined} onClick={() => void save(choice)}>
              {converting === choice.format ? 'Converting …' : choice.use}
            </button>
          </li>
        ))}
      </ul>
      <Problem text={problem} />
    </details>
  );
}
