import { type Handlers, parentChannel } from '@gen3d/engine/rpc';
import type { ChildFunctions, FromChild, SupervisorFunctions } from './messages.js';

/** Makes this process the child of a supervisor. Returns a function that sends messages to it. */
export function serveSupervisor(functions: Handlers<ChildFunctions>): (message: FromChild) => void {
  leaveSignalsToParent();
  const supervisor = parentChannel<SupervisorFunctions>(functions);
  return (message) => supervisor.notify('report', message);
}

/** Ignores the signals of Ctrl-C, Windows' Ctrl-Break and systemd, which reach the whole process group. */
export function leaveSignalsToParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGBREAK'] as const) process.on(signal, () => {});
}
