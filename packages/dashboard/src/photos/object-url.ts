import { useEffect, useState } from 'preact/hooks';

/** Returns a blob: URL of a photo, which is valid while the component shows it. */
export function useObjectUrl(photo: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!photo) return;
    const created = URL.createObjectURL(photo);
    setUrl(created);
    return () => {
      setUrl(undefined);
      URL.revokeObjectURL(created);
    };
  }, [photo]);
  return url;
}
