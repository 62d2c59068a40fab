import { z } from 'zod';
import { isStorable, maxNameLength, notStorable, oneLine } from './text.js';

/** The name of an account or an API key, as it is stored. Members choose names that the operator's terminal shows. */
export const Name = z
  .string()
  .refine(isStorable, notStorable)
  .transform(oneLine)
  .pipe(z.string().min(1, 'must not be empty').max(maxNameLength, `must have at most ${maxNameLength} characters`));
