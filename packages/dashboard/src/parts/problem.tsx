/** What went wrong, said aloud. */
export function Problem({ text }: { text: string | undefined }) {
  return (
    <div role="alert" class={text === undefined ? 'problem none' : 'problem'}>
      {text}
    </div>
  );
}
