import type { Transaction } from 'kysely';
import { keysInFile, rotated, type ServerKeys, writeKeys } from '../../base/server-key.js';
import type { Tables } from '../db/tables.js';

/** Keeps the server keys: in a file (below), or in the database that several servers share (cluster/). */
export interface KeyStore {
  /** Returns the keys, which are the same for all servers of the database. Creates one on first use. */
  read(): Promise<ServerKeys>;
  /** Puts a new key before the others. The transaction must have written before, so that rotations take turns. */
  rotate(trx: Transaction<Tables>): Promise<void>;
}

export const keyFile = (path: string): KeyStore => ({
  read: async () => keysInFile(path),
  rotate: () => writeKeys(path, rotated(keysInFile(path))),
});
