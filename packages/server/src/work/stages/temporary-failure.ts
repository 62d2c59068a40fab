/** Something that the service needs is unavailable. Jobs wait and lose no attempt. The message is for the operator's log. */
export class TemporaryFailure extends Error {
  override readonly name: string = 'TemporaryFailure';
}
