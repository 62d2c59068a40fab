/** A setting that cannot be used. The message lists every problem and where it was set. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** A mistake of the person who runs an administration command. The message is for them. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}
