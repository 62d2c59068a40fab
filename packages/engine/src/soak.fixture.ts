import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    soak: boolean;
  }
}

/** Whether this is the long run, `npm run test:soak`. */
export const soak = inject('soak');
