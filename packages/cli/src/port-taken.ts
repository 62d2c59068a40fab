import { UsageError } from './failure.js';

/** A sentence for a port that somebody else listens on; every other error as it is. */
export function explainPort(error: unknown, port: number, suspect: string): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) return error;
  const advice = 'Choose another with --port, or --port 0 for any';
  return new UsageError(`Port ${port} is taken: is another \`${suspect}\` running? ${advice}`, { cause: error });
}
