import { inject } from 'vitest';

// A test file that cannot run on PostgreSQL fails here: a skipped one would look like one that passed.
const postgres = inject('postgres');
if (postgres && 'missing' in postgres) throw new Error(postgres.missing);
