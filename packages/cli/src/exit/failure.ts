import {
  AuthenticationError,
  ConnectionError,
  Gen3dError,
  InsufficientBalanceError,
  InvalidRequestError,
  NotConfiguredError,
  ServerError,
} from '@gen3d/sdk';
import { CommanderError } from 'commander';

/** The exit codes. Scripts rely on these. */
export const exitCode = {
  done: 0,
  /** The job failed, or the server refused the request. */
  failed: 1,
  usage: 2,
  unreachable: 3,
  unauthorized: 4,
  interrupted: 130,
} as const;

/** What was typed cannot be done as it stands; nothing was sent. The message says what to type instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Ctrl-C, or a polite kill. `hint` says how to go on from here. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor(readonly hint = '') {
    super('Interrupted');
  }
}

/** A failure whose exit code is known where it happens. No message: the parts have said theirs, each in its own line. */
export class Failed extends Error {
  override readonly name = 'Failed';

  constructor(
    readonly exitCode: number,
    message = '',
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface Failure {
  readonly exitCode: number;
  /** For a person, on stderr; empty where everything has been said. */
  readonly message: string;
}

export function failureOf(error: unknown): Failure {
  // Commander has printed its message, or the help that was asked for.
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? 0 : exitCode.usage, message: '' };
  if (error instanceof Failed) return { exitCode: error.exitCode, message: error.message };
  if (error instanceof Interrupted) {
    return { exitCode: exitCode.interrupted, message: ['Interrupted.', error.hint].filter(Boolean).join(' ') };
  }
  if (error instanceof Gen3dError) return { exitCode: exitCodeOf(error), message: sentence(error) };
  // ConfigError is the server's, which is loaded only by the commands that need it.
  if (error instanceof Error && (error instanceof UsageError || error.name === 'ConfigError')) {
    return { exitCode: exitCode.usage, message: error.message };
  }
  return { exitCode: exitCode.failed, message: expected(error) ?? unexpected(error) };
}

function exitCodeOf(error: Gen3dError): number {
  if (error instanceof AuthenticationError) return exitCode.unauthorized;
  if (error instanceof ConnectionError) return exitCode.unreachable;
  // Without a status it never left this machine: a file that is not there, or no picture.
  if (error instanceof InvalidRequestError && error.status === undefined) return exitCode.usage;
  return exitCode.failed;
}

function sentence(error: Gen3dError): string {
  if (error instanceof AuthenticationError && error.status !== undefined) {
    return `${error.message}. Check --api-key or GEN3D_API_KEY, or run \`gen3d login\``;
  }
  if (error instanceof InsufficientBalanceError) {
    return `The balance is ${usd(error.balanceUsd)}, and a job needs ${usd(error.minBalanceUsd)}. Top it up: the operator does it with \`gen3d admin account credit\``;
  }
  if (error instanceof NotConfiguredError)
    return 'No webhook endpoint is configured. Set one with `gen3d webhook set URL`';
  // The operator finds it in the server's log.
  return error instanceof ServerError && error.requestId
    ? `${error.message} (request ${error.requestId})`
    : error.message;
}

const usd = (amount: number) => `${amount.toFixed(2)} USD`;

// By name: they belong to packages that are loaded only by the commands that need them.
const explained: ReadonlySet<string> = new Set(['AdminError', 'BundleError', 'EngineError', 'RunnerStartError']);

/** These say all that helps, as do the operating system's refusals; anything else is a fault of ours: its stack helps. */
function expected(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return explained.has(error.name) || 'syscall' in error ? error.message : undefined;
}

const unexpected = (error: unknown) =>
  `This should not have happened:\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;

/** A sentence for a port that somebody else listens on; every other error as it is. */
export function explainPort(error: unknown, port: number, suspect: string): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) return error;
  const advice = 'Choose another with --port, or --port 0 for any';
  return new UsageError(`Port ${port} is taken: is another \`${suspect}\` running? ${advice}`, { cause: error });
}
