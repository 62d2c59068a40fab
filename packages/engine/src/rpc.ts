// Calls between processes and threads. This entry point loads no native part.
export { Channel, type Handlers, parentChannel } from './rpc/channel.js';
export { Child, ExitError, forkModule } from './rpc/child.js';
