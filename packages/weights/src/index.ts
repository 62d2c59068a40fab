export { type PullOptions, type PullProgress, type PullRequirements, pullBundle } from './pull.js';
