import type { JobStatus } from '../api.js';
import { statusWords } from '../words.js';

export function StatusBadge({ status }: { status: JobStatus }) {
  return <span class={`badge ${status.toLowerCase()}`}>{statusWords[status]}</span>;
}
