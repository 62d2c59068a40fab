/** The preparer process. The supervisor starts it and controls it over IPC. It exits when its parent does. */
import { createLog } from '../../base/log.js';
import { guardedAgent } from '../../base/net/guarded-agent.js';
import { openDatabase } from '../../data/db/open.js';
import { openDataDir } from '../../data/installation/data-dir.js';
import { openFileStores } from '../../data/installation/file-stores.js';
import { notifyParent, onStart } from '../processes/child-process.js';
import type { ToChild } from '../processes/messages.js';
import { defaultStageTimeoutMs } from '../stages/stage-failures.js';

onStart(async ({ id, config, logLevel }) => {
  // Loaded here, so that `onStart` reports a native part that cannot be loaded.
  const { DecoderPool } = await import('./decoder-pool.js');
  const { Preparer } = await import('./preparer.js');
  const log = createLog(config, logLevel).child({ preparer: id });
  const dirs = openDataDir(config);
  const db = openDatabase(dirs.database, { connections: 3, log });
  const { inputs } = await openFileStores(dirs, config);
  const decoders = new DecoderPool();
  decoders.warmUp();
  const preparer = new Preparer({
    name: id,
    db,
    inputs,
    dispatcher: guardedAgent({ allowPrivateNetwork: config.allowPrivateNetwork, connectTimeoutMs: 10_000 }),
    decoders,
    slots: config.preparations,
    leaseMs: config.leaseSeconds * 1_000,
    stageTimeoutMs: defaultStageTimeoutMs,
    notify: notifyParent,
    log,
  });
  process.on('message', (message: ToChild) => {
    if (message.type === 'wake') preparer.wake();
    if (message.type === 'drain') preparer.drain();
  });
  notifyParent({ type: 'ready' });
  await preparer.run();
  decoders.stop();
  await db.destroy();
  process.exit(0);
});
