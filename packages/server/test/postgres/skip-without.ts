import { beforeEach, inject } from 'vitest';

const postgres = inject('postgres');
if (postgres && 'missing' in postgres) beforeEach(({ skip }) => skip(postgres.missing));
