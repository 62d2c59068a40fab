import { useId, useState } from 'preact/hooks';
import { CopyButton } from './copy-button.js';

export interface Snippet {
  name: string;
  code: string;
}

/** The same call in several languages, one at a time. */
export function Snippets({ snippets, label }: { snippets: readonly Snippet[]; label: string }) {
  const [at, setAt] = useState(0);
  const id = useId();
  const shown = snippets[at]!;
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const next = (at + step + snippets.length) % snippets.length;
    setAt(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return (
    <div class="snippets">
      <div class="row between">
        <div role="tablist" aria-label={label} class="tabs">
          {snippets.map(({ name }, index) => (
            <button
              key={name}
              id={`${id}-${index}`}
              type="button"
              role="tab"
              aria-selected={index === at}
              aria-controls={`${id}-panel`}
              tabIndex={index === at ? 0 : -1}
              onClick={() => setAt(index)}
              onKeyDown={move}
            >
              {name}
            </button>
          ))}
        </div>
        <CopyButton text={shown.code} what={`the ${shown.name} call`} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${at}`} tabIndex={0}>
        <code>{shown.code}</code>
      </pre>
    </div>
  );
}
