import { useRef } from 'preact/hooks';

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
