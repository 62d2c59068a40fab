/** SQLITE_IOERR_SHMSIZE: SQLite could not enlarge the index of its write-ahead log. 53100: PostgreSQL's disk_full. */
const codes = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', '53100']);

/** Whether an error says that there is no space left: nobody's fault, and over when somebody makes room. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && codes.has(String(error.code));
}
