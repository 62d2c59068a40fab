import {
  AuthenticationError,
  ConnectionError,
  Gen3dError,
  InsufficientBalanceError,
  InvalidRequestError,
  JobFailedError,
  NotConfiguredError,
  RedirectError,
  ServerError,
} from '@gen3d/sdk';
import { CommanderError } from 'commander';

/** Scripts rely on these exit codes. */
export const exitCode = {
  done: 0,
  /** The job failed, or the server rejected the request. */
  failed: 1,
  usage: 2,
  unreachable: 3,
  unauthorized: 4,
  interrupted: 130,
} as const;

/** The command line is invalid, and nothing has been sent. The message suggests a correction. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The user pressed Ctrl-C, or the process got a SIGTERM. `hint` explains how to continue. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';

  constructor(readonly hint = '') {
    super('Interrupted');
  }
}

/** A failure with a known exit code. The message is empty if the command has already printed the cause. */
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

/** The message of whatever was thrown. */
export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export interface Failure {
  readonly exitCode: number;
  /** Printed to stderr unless it is empty. */
  readonly message: string;
}

export function failureOf(error: unknown): Failure {
  // Commander has already printed its message or the help.
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? 0 : exitCode.usage, message: '' };
  if (error instanceof Failed) return { exitCode: error.exitCode, message: error.message };
  if (error instanceof Interrupted) {
    return { exitCode: exitCode.interrupted, message: ['Interrupted.', error.hint].filter(Boolean).join(' ') };
  }
  if (error instanceof Gen3dError) return { exitCode: exitCodeOf(error), message: messageOf(error) };
  // ConfigError is a class of @gen3d/server, which most commands do not load.
  if (error instanceof Error && (error instanceof UsageError || error.name === 'ConfigError')) {
    return { exitCode: exitCode.usage, message: error.message };
  }
  if (error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE')) {
    const advice = 'gen3d needs about 300, and a busy server more. Raise the limit, for example with `ulimit -n 4096`';
    return { exitCode: exitCode.failed, message: `Too many open files. ${advice}\n${error.message}` };
  }
  const problem = error instanceof Error && listeningProblem(error);
  if (problem) return { exitCode: exitCode.usage, message: problem };
  if (isExpected(error)) return { exitCode: exitCode.failed, message: error.message };
  if (isStorageFailure(error)) {
    return { exitCode: exitCode.failed, message: `Cannot use the database: ${errorMessage(error)}. ${storageAdvice}` };
  }
  const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: exitCode.failed, message: `Unexpected error. This is a bug in gen3d:\n${details}` };
}

function exitCodeOf(error: Gen3dError): number {
  if (error instanceof AuthenticationError) return exitCode.unauthorized;
  if (error instanceof ConnectionError) return exitCode.unreachable;
  // Without a status, the request was never sent, for example because a file does not exist.
  if (error instanceof InvalidRequestError && error.status === undefined) return exitCode.usage;
  return exitCode.failed;
}

function messageOf(error: Gen3dError): string {
  if (error instanceof AuthenticationError && error.status !== undefined) {
    return `${error.message}. Check --api-key or GEN3D_API_KEY, or run \`gen3d login\``;
  }
  if (error instanceof RedirectError) return `${error.message} (--base-url or GEN3D_BASE_URL)`;
  if (error instanceof InsufficientBalanceError) {
    const amounts = `The balance is ${usd(error.balanceUsd)}, but a job requires ${usd(error.minBalanceUsd)}`;
    return `${amounts}. The operator can add credit with \`gen3d admin account credit\``;
  }
  // docs/errors.md lists the codes.
  if (error instanceof JobFailedError && error.task.error) {
    const { task_id, error: cause } = error.task;
    return `Job ${task_id} failed with ${cause.code}: ${cause.message}`;
  }
  if (error instanceof NotConfiguredError) {
    return `No webhook endpoint is configured. Set one with \`gen3d webhook set URL\`. ${withoutEndpoint()}`;
  }
  // With the request id, the operator can find the cause in the server's log.
  const hasId = error instanceof ServerError && error.requestId !== undefined;
  return hasId ? `${error.message} (request ${error.requestId})` : error.message;
}

/** Explains how to receive events without a public https URL. */
export const withoutEndpoint = (receiver = 'http://127.0.0.1:PORT/PATH'): string =>
  `To receive events on your own machine, use \`gen3d webhook listen --forward-to ${receiver}\``;

const usd = (amount: number) => `${amount.toFixed(2)} USD`;

// Compares names, because these classes are in packages that most commands do not load.
const explainedErrors: ReadonlySet<string> = new Set([
  'AdminError',
  'BundleError',
  'DatabaseLockedError',
  'DatabaseUnavailableError',
  'EngineError',
  'NativePartError',
  'RunnerStartError',
  'StorageUnavailableError',
]);

/** Failed statements that are not bugs, by the start of SQLite's code or by PostgreSQL's code `disk_full`. */
const storageCodes = /^(SQLITE_(FULL|READONLY|CORRUPT|IOERR|PROTOCOL)|53100$)/;
const storageAdvice =
  'Check that the disk of the database is local, writable and not full. If the database is damaged, restore a backup';

/** Whether the database could not store or read something. After a failed migration, the code is that of the cause. */
const isStorageFailure = (error: unknown): boolean =>
  error instanceof Error &&
  (storageCodes.test('code' in error ? String(error.code) : '') || isStorageFailure(error.cause));

/** Whether the error's message explains the failure, as those of the operating system do. Other errors are bugs. */
const isExpected = (error: unknown): error is Error =>
  error instanceof Error && (explainedErrors.has(error.name) || 'syscall' in error);

/** Says why a command cannot listen. The address in the error is that of one of its options. */
function listeningProblem(error: object): string | undefined {
  const { syscall, code, port, hostname, address } = error as Readonly<Record<string, unknown>>;
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return undefined;
  if (syscall === 'getaddrinfo' || code === 'EADDRNOTAVAIL') {
    return `${hostname ?? address} is not an address of this machine. Choose another one with --host or --metrics-host`;
  }
  // Windows reserves ranges of ports, for example for Hyper-V. Elsewhere, ports below 1024 need privileges.
  const reason = {
    EADDRINUSE: 'already in use, perhaps by gen3d',
    EACCES: 'reserved by the system, or needs privileges',
  }[String(code)];
  return (
    reason && `Port ${port} is ${reason}. Choose another port with --port or --metrics-port, or 0 for any free one`
  );
}
