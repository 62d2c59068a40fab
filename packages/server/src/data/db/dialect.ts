import { PostgresAdapter, type QueryExecutorProvider } from 'kysely';

export const isPostgres = (db: QueryExecutorProvider): boolean => db.getExecutor().adapter instanceof PostgresAdapter;
