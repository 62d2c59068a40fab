export {
  type Admin,
  type AdminAccount,
  type AdminDeadLetter,
  type AdminKey,
  openAdmin,
} from './admin.js';
export { AdminError, ConfigError } from './base/errors.js';
export { createLog, isLogForPeople } from './base/log.js';
export { type BundleChoice, chooseBundles } from './chosen-bundles.js';
export { type Config, defaultDataDir, loadConfig, type Setting, settings } from './config.js';
export { sqliteLibrary } from './data/db/sqlite-connection.js';
export { type Backup, backup } from './data/moving/backup.js';
export { type Move, type MoveReport, migrateTo } from './data/moving/migrate-to.js';
export { type ServeOptions, type Server, serve } from './serve.js';
export { RunnerStartError } from './work/processes/supervisor.js';
export { worker } from './worker.js';
