/** A thread that makes models, one at a time. Its networks run in the network thread. */

import { type Handlers, parentChannel } from '@gen3d/rpc';
import { Engine, type Stage } from '../engine.js';
import { RemoteSessions } from './remote-sessions.js';
import type { PipelineObserver, PipelineThread } from './threads.js';
import { lowerPriority } from './threads.js';

lowerPriority();

let sessions: RemoteSessions;
let engine: Engine;

const pool = parentChannel<PipelineObserver>({
  async open({ options, chosen, network }) {
    sessions = new RemoteSessions(network);
    engine = await Engine.open(options, { chosen, openSession: sessions.open, now: sessions.now });
  },
  async generate({ photos, options }, signal) {
    sessions.signal = signal;
    const before = sessions.times;
    const start = sessions.now();
    const times = () => ({
      deviceMs: sessions.times.deviceMs - before.deviceMs,
      deviceWaitMs: sessions.times.deviceWaitMs - before.deviceWaitMs,
    });
    const onProgress = (fraction: number, running: Stage | undefined) => {
      pool.notify('progress', { fraction, running, ...times() });
      // The engine does not return to the event loop between stages. Without this, an abort would arrive after the last.
      pool.receiveNow();
    };
    const generated = await engine.generate(photos, { ...options, onProgress, signal });
    return { ...generated, ...times(), engineMs: sessions.now() - start };
  },
} satisfies Handlers<PipelineThread>);
