/** Declares what gen3d uses of Node's own SQLite, because the types of Node 20 do not include it. */
export interface NodeSqlite {
  readonly DatabaseSync: new (path: string, options: { timeout: number; readOnly: boolean }) => NodeDatabase;
  readonly StatementSync: { readonly prototype: object };
}

export interface NodeDatabase {
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): NodeStatement;
  close(): void;
}

export interface NodeStatement {
  setReturnArrays(enabled: boolean): void;
  columns(): { name: string }[];
  all(...parameters: readonly unknown[]): unknown[][];
  iterate(...parameters: readonly unknown[]): Iterator<unknown[]>;
  run(...parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
}

/** Loads Node's own SQLite. Undefined if this version of Node has none, or one without a function that gen3d needs. */
export function loadNodeSqlite(): NodeSqlite | undefined {
  const sqlite = withoutWarnings(() => process.getBuiltinModule('node:sqlite')) as NodeSqlite | undefined;
  // Node 22.16 and 24.0 added this together with `timeout`, `columns` and `isTransaction`.
  return sqlite && 'setReturnArrays' in sqlite.StatementSync.prototype ? sqlite : undefined;
}

/** Hides the warning that SQLite is experimental, which Node 22 prints in each process and for each command. */
function withoutWarnings<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
