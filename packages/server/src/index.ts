export {
  type Admin,
  type AdminAccount,
  type AdminDeadLetter,
  AdminError,
  type AdminKey,
  openAdmin,
} from './admin.js';
export { type ChosenModels, chooseModels } from './chosen-models.js';
export { type Config, ConfigError, defaultDataDir, loadConfig, type Setting, settings } from './config.js';
export { createLog } from './log.js';
export { modelDirs, pulledModelsDir } from './model-dirs.js';
export { type Backup, backup } from './moving/backup.js';
export { type Move, type MoveReport, migrateTo } from './moving/migrate-to.js';
export { RunnerStartError } from './runner/supervisor.js';
export { type ServeOptions, type Server, serve, worker } from './serve.js';
