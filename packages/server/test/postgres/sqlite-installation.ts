import { onTestFinished } from 'vitest';
import { type Config, loadConfig } from '../../src/config.js';
import type { Db } from '../../src/data/db/database.js';
import { type Server, serve } from '../../src/index.js';
import { type ApiResponse, callServer, silent } from '../kit.js';
import { openDatabase } from '../open-database.js';

export interface RunningServer extends Server {
  config: Config;
  apiKey: string;
  call(method: string, path: string, body?: unknown): Promise<ApiResponse>;
}

/** Starts a server without runners. Unlike with `startServer`, it may use SQLite or PostgreSQL in the same test. */
export async function serveFrom(settings: Record<string, unknown>, apiKey = ''): Promise<RunningServer> {
  const config = loadConfig({}, {}, { port: 0, workers: 0, rateLimit: 'off', ...settings });
  const server = await serve(config, { log: silent, stdout: { write: () => {} } });
  let open = true;
  const close: Server['close'] = async () => {
    if (open) await server.close({ graceMs: 0 });
    open = false;
  };
  onTestFinished(() => close());
  const key = server.bootstrap?.apiKey ?? apiKey;
  return {
    ...server,
    close,
    config,
    apiKey: key,
    call: (...args) => callServer(server.url, args[0], args[1], args[2], key),
  };
}

/** Opens a database for the duration of the test, unless it is closed earlier. */
export function databaseAt(location: string): Db {
  const db = openDatabase(location, { connections: 2 });
  onTestFinished(() => db.destroy());
  return db;
}
