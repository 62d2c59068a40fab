import { inject } from 'vitest';

// Without PostgreSQL, test files fail here. Skipped files would look as if they passed.
const postgres = inject('postgres');
if (postgres && 'missing' in postgres) throw new Error(postgres.missing);
