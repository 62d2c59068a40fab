import { useId, useState } from 'preact/hooks';
import { CopyButton } from './buttons.js';

export interface Snippet {
  name: string;
  code: string;
}

/** Shows one call in several languages, one per tab. */
export function Snippets({ snippets, label }: { snippets: readonly Snippet[]; label: string }) {
  const [selected, setSelected] = useState(0);
  const id = useId();
  const snippet = snippets[selected]!;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const next = (selected + step + snippets.length) % snippets.length;
    setSelected(next);
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
              aria-selected={index === selected}
              aria-controls={`${id}-panel`}
              tabIndex={index === selected ? 0 : -1}
              onClick={() => setSelected(index)}
              onKeyDown={onKeyDown}
            >
              {name}
            </button>
          ))}
        </div>
        <CopyButton text={snippet.code} name={`the ${snippet.name} call`} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <pre id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${selected}`} tabIndex={0}>
        <code>{snippet.code}</code>
      </pre>
    </div>
  );
}
