import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

/** A button that submits no form, unless `type` says so. */
export const Button = ({ label, ...attributes }: ButtonHTMLAttributes & { label: string }) => (
  <button type="button" {...attributes}>
    {label}
  </button>
);

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
      <Button
        label={props.label}
        class={props.small ? 'small danger' : 'danger'}
        aria-label={props.ariaLabel}
        onClick={() => dialog.current?.showModal()}
      />
      <dialog ref={dialog} aria-label={props.question}>
        <h2>{props.question}</h2>
        <p>{props.consequence}</p>
        <div class="row end">
          <Button label="Cancel" onClick={() => dialog.current?.close()} />
          <Button
            label={props.label}
            class="primary danger"
            onClick={() => {
              dialog.current?.close();
              props.onConfirm();
            }}
          />
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
    <Button
      label={copied ? 'Copied' : 'Copy'}
      class="small"
      aria-label={copied ? `${name} copied` : `Copy ${name}`}
      onClick={() => void copyText(text).then(() => setCopied(true))}
    />
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

/** Offers values as a drop-down list. `name` is for screen readers. */
export function Select<T extends string>(props: {
  name: string;
  /** The text of each value. */
  options: { readonly [value in T]?: string };
  value: T;
  class?: string;
  onChange: (value: T) => void;
}) {
  const { name, options, value, class: className, onChange } = props;
  return (
    <select
      class={className}
      aria-label={name}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value as T)}
    >
      {Object.entries(options as Record<string, string>).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}
