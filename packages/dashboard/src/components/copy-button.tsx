import { useEffect, useState } from 'preact/hooks';

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
