// Calls between processes and threads. This package knows nothing of what is called.
export {
  Channel,
  type ErrorClasses,
  type Handlers,
  type Input,
  type Output,
  parentChannel,
  transfer,
} from './channel.js';
export { Child, ExitError, forkModule } from './child.js';
