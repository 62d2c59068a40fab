import { BundleError, EngineError, type EngineErrorCode } from '../base/errors.js';

/** The form in which an error is sent to another thread. Sent as it is, it would lose its class. */
export interface SentError {
  readonly type: 'engine' | 'bundle' | 'other';
  readonly code?: EngineErrorCode;
  readonly message: string;
  readonly stack?: string | undefined;
  /** The message of the cause. */
  readonly cause?: string;
}

export function toSentError(thrown: unknown): SentError {
  const { message, stack, cause } = thrown instanceof Error ? thrown : new Error(String(thrown));
  const common = { message, stack, ...(cause instanceof Error && { cause: cause.message }) };
  if (thrown instanceof EngineError) return { ...common, type: 'engine', code: thrown.code };
  return { ...common, type: thrown instanceof BundleError ? 'bundle' : 'other' };
}

export function fromSentError({ type, code, message, stack, cause }: SentError): Error {
  const options = cause === undefined ? {} : { cause: new Error(cause) };
  if (type === 'engine') return new EngineError(code!, message, options);
  if (type === 'bundle') return new BundleError(message, options);
  // For the log, which then shows the stack in the other thread.
  return Object.assign(new Error(message, options), stack !== undefined && { stack });
}
