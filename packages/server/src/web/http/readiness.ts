import type { RequestHandler } from 'express';
import { cached } from '../../base/cached.js';
import { answers } from '../../data/db/answers.js';
import { currentTime } from '../../data/db/time.js';
import { anyRunner } from '../../data/runners/registry.js';
import { passesInTime } from './in-time.js';
import { sendJson } from './send-json.js';
import type { Services } from './services.js';

type Findings = Record<'server' | 'database' | 'assets' | 'runners', string>;

/** `ok`, or what is wrong: always one of our sentences, so that nothing of an address or a credential gets out. */
async function finding(check: Promise<boolean>, problem: string): Promise<string> {
  return (await passesInTime(check)) ? 'ok' : problem;
}

/**
 * `GET /readyz`: 200 when jobs that are sent here will be done, 503 with what is missing otherwise. Unlike `/healthz`, which
 * asks about this process and its database, it looks at everything that a job needs.
 */
export function readiness({ db, checkAssets, isReady }: Services): RequestHandler {
  const look = cached(async (): Promise<Findings> => {
    const [database, assets, runners] = await Promise.all([
      finding(answers(db), 'does not answer'),
      finding(
        checkAssets().then(() => true),
        'cannot be reached, or not written to',
      ),
      finding(anyRunner(db, currentTime(db)), 'none is at work, on no machine'),
    ]);
    return {
      server: isReady() ? 'ok' : 'is starting or stopping',
      database,
      assets,
      runners: database === 'ok' ? runners : 'not known without the database',
    };
  });
  return async (_request, response) => {
    const checks = await look();
    const isAll = Object.values(checks).every((check) => check === 'ok');
    response.setHeader('cache-control', 'no-store');
    sendJson(response, isAll ? 200 : 503, { status: isAll ? 'ready' : 'not ready', checks });
  };
}
