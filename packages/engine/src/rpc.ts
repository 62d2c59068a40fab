// Calls between processes and threads. This entry point loads no native part.
export { Channel, Child, ExitError, forkModule, type Handlers, parentChannel } from './rpc/channel.js';
