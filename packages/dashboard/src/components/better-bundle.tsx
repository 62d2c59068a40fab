import { BundleOverview } from '@gen3d/schema/dashboard';
import { useEffect, useState } from 'preact/hooks';
import { fileSize, seconds } from '../format.js';
import { useSession } from '../session.js';

/** Names the bundle that makes better shapes on the server's machine, for an operator who may not know of it. */
export function BetterBundle() {
  const { api } = useSession();
  const [overview, setOverview] = useState<BundleOverview>();
  useEffect(() => {
    // A recommendation is a courtesy, so a failure shows nothing.
    api.get('/operator/bundles', BundleOverview).then(setOverview, () => {});
  }, [api]);
  const better = overview?.offered.find(({ name }) => name === overview.recommended);
  if (!better) return null;
  const { title, bytes, license, cpu_seconds } = better;
  return (
    <p class="hint">
      For better shapes, pull {title} on the <a href="/dashboard/operator">operator page</a> ({fileSize(bytes)},{' '}
      {license}
      {cpu_seconds !== null && `; about ${seconds(cpu_seconds)} a photo on the CPU of ${overview?.host}`}).
    </p>
  );
}
