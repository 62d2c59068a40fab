import { z } from 'zod';
import { isStorable, maxNameLength, notStorable, oneLine } from './text.js';

/** A valid name of an account or an API key. Members choose names, and the operator's terminal shows them. */
export const Name = z
  .string()
  .refine(isStorable, notStorable)
  .transform(oneLine)
  .pipe(z.string().min(1, 'must not be empty').max(maxNameLength, `must have at most ${maxNameLength} characters`));
