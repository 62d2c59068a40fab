/** What the shell is told. Part of the command line's promise: scripts branch on these. */
export const exitCode = {
  done: 0,
  /** The job failed, or the server refused the request. */
  failed: 1,
  usage: 2,
  unreachable: 3,
  unauthorised: 4,
  interrupted: 130,
} as const;
