import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

/** Asks for confirmation before an action that cannot be undone. */
export function ConfirmButton(props: {
  label: string;
  small?: boolean;
  /** Names the button for screen readers, where several buttons have the same label. */
  ariaLabel?: string;
  question: string;
  consequence: string;
  onConfirm: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button
        type="button"
        class={props.small ? 'small danger' : 'danger'}
        aria-label={props.ariaLabel}
        onClick={() => dialog.current?.showModal()}
      >
        {props.label}
      </button>
      <dialog ref={dialog} aria-label={props.question}>
        <h2>{props.question}</h2>
        <p>{props.consequence}</p>
        <div class="row end">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button
            type="button"
            class="primary danger"
            onClick={() => {
              dialog.current?.close();
              props.onConfirm();
            }}
          >
            {props.label}
          </button>
        </div>
      </dialog>
    </>
  );
}

async function copyText(text: string): Promise<void> {
  // Only pages over https or on loopback have `navigator.clipboard`; the deprecated command works on the others.
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

/** Copies a text. `name` is its name for screen readers, such as `the key`. */
export function CopyButton({ text, name }: { text: string; name: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <button
      type="button"
      class="small"
      aria-label={copied ? `${name} copied` : `Copy ${name}`}
      onClick={() => void copyText(text).then(() => setCopied(true))}
    >
      {copied ? 'Copied' : 'Copy'}
    </button>
  );
}

/** Offers a few values as a row of buttons, of which one is pressed. `legend` is for screen readers. */
export function Choice<T extends string>(props: {
  legend: string;
  options: readonly { value: T; label: ComponentChildren }[];
  value: T;
  onChange: (value: T) => void;
}) {
  const { legend, options, value, onChange } = props;
  const name = useId();
  return (
    <fieldset class="filter">
      <legend class="hidden">{legend}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => onChange(option.value)} />
          <span>{option.label}</span>
        </label>
      ))}
    </fieldset>
  );
}
