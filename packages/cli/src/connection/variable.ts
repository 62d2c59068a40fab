import { trimmed } from '@gen3d/schema/rules';

/** Reads an environment variable, without the white space and quotes around it. Undefined if it is unset or empty. */
export const variable = (name: string): string | undefined => trimmed(process.env[name] ?? '') || undefined;
