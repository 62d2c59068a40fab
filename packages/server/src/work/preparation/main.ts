import { createLog, routineLevel } from '../../base/log.js';
import { guardedAgent } from '../../base/net/guarded-agent.js';
import { openDatabase } from '../../data/db/open.js';
import { openDataDir } from '../../data/installation/data-dir.js';
import type { Edges } from '../../data/installation/edges.js';
import { serveSupervisor } from '../processes/child-process.js';
import { defaultStageTimeoutMs } from '../stages/stage-failures.js';
import type { Preparer } from './preparer.js';

/** Runs the preparer process. The supervisor starts it and controls it over IPC. It exits when its parent does. */
export function runPreparer(edges: Edges): void {
  let preparer: Preparer | undefined;

  const notify = serveSupervisor({
    async start({ id, config, logLevel }) {
      // Loaded here, so that a native part that cannot be loaded is the error of this call.
      const { DecoderPool } = await import('./decoder-pool.js');
      const { Preparer } = await import('./preparer.js');
      const { findSandbox } = await import('./sandbox.js');
      const log = createLog(config, logLevel).child({ preparer: id });
      const { sandbox, isMissing, text } = await findSandbox(config.decoderSandbox);
      if (!sandbox && config.decoderSandbox === 'require') throw new Error(`--decoder-sandbox is require, but ${text}`);
      log[isMissing ? 'warn' : routineLevel(config)](text);
      const dirs = openDataDir(config);
      const db = openDatabase(edges.databaseAt(dirs.database), dirs.database, { connections: 3, log });
      const { inputs } = await edges.openFileStores(dirs, config);
      const decoders = new DecoderPool({}, sandbox);
      decoders.warmUp();
      const working = new Preparer({
        name: id,
        db,
        inputs,
        dispatcher: guardedAgent({
          allowPrivateNetwork: config.allowPrivateNetwork,
          denyNetwork: config.denyNetwork,
          connectTimeoutMs: 10_000,
        }),
        decoders,
        slots: config.preparations,
        leaseMs: config.leaseSeconds * 1_000,
        stageTimeoutMs: defaultStageTimeoutMs,
        notify,
        log,
      });
      preparer = working;
      // Starts after the response to this call.
      setImmediate(async () => {
        await working.run();
        decoders.stop();
        await db.destroy();
        process.exit(0);
      });
      return undefined;
    },
    wake: () => preparer?.wake(),
    // Only runners are replaced while they work.
    retire: () => {},
    drain: () => preparer?.drain(),
  });
}
