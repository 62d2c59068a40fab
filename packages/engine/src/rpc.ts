// Calls between processes and threads, and the errors that cross them. This entry point loads no native part.
export { BundleError, EngineError, type EngineErrorCode, needsTooMuchMemory } from './base/errors.js';
export { Channel, Child, ExitError, forkModule, type Handlers, parentChannel } from './rpc/channel.js';
