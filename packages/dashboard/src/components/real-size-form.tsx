import { parseLength, type RealSizeTexts } from '@gen3d/schema/rules';
import { useState } from 'preact/hooks';
import { Select } from './buttons.js';
import { Problem } from './feedback.js';

const sides = { size: 'Longest side', height: 'Height', width: 'Width' } as const;
type Side = keyof typeof sides;

function problemOf(length: string): string | undefined {
  try {
    parseLength(length);
    return undefined;
  } catch (error) {
    return (error as RangeError).message;
  }
}

/** Asks for the real size of the objects in the photos that are added next. Calls `onChange` with what is entered. */
export function RealSizeForm({ onChange }: { onChange: (size: RealSizeTexts) => void }) {
  const [side, setSide] = useState<Side>('size');
  const [length, setLength] = useState('');
  const enter = (newSide: Side, newLength: string) => {
    setSide(newSide);
    setLength(newLength);
    onChange(newLength.trim() ? { [newSide]: newLength } : {});
  };
  return (
    <details class="real-size">
      <summary>Real size{length.trim() && `: ${sides[side].toLowerCase()} ${length}`}</summary>
      <div class="row">
        <Select name="Side" options={sides} value={side} onChange={(newSide) => enter(newSide, length)} />
        <input
          aria-label="Length"
          value={length}
          placeholder="80mm, 8cm, 0.3m, 3in"
          onInput={({ currentTarget }) => enter(side, currentTarget.value)}
        />
      </div>
      <p class="hint">For the photos that you add next. Without it, the longest side of a model is one meter.</p>
      <Problem text={length.trim() ? problemOf(length) : undefined} />
    </details>
  );
}
