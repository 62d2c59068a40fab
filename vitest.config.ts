import { defineConfig } from 'vitest/config';
import { loadNodeSqlite } from './packages/server/src/data/db/node-sqlite.js';

const server = 'packages/server';
/** The tests that use the database. They run on SQLite and on PostgreSQL. */
const onBothDatabases = [
  `${server}/src/data/{accounts,db,jobs,runners}/**/*.test.ts`,
  `${server}/src/work/preparation/preparer.test.ts`,
  `${server}/src/work/runner/runner.test.ts`,
  `${server}/src/work/stages/held-jobs.test.ts`,
  `${server}/src/work/webhooks/delivery.test.ts`,
  `${server}/test/{admin,assets,charges,dashboard,gallery,gateway,operator-password,query-plans,seen-from-outside}.test.ts`,
  `${server}/test/contract/*.test.ts`,
  `${server}/src/data/webhooks/{delivery-log,listeners}.test.ts`,
  `${server}/test/faults/{crash,hostile-requests,runners,slow-hosts,webhooks}.test.ts`,
];
/** The tests that open SQLite files. They also run on Node's own SQLite, if this Node has it. */
const onNodeSqlite = [
  ...onBothDatabases,
  `${server}/test/{backup,first-start,locked-database}.test.ts`,
  `${server}/test/faults/full-disk.test.ts`,
];
/** Tests of whole programs and of the dashboard in a browser, which take minutes. */
const system = '{packages,scripts}/**/*.system.test.ts';
/** Deletes a global before a library is loaded, so it cannot share a worker's modules with other tests. */
const isolated = 'packages/sdk/test/older-browsers.test.ts';
const onlyPostgres = 'packages/{server,cli}/test/postgres/**/*.test.ts';

/** Seed of random plans. `npm run test:soak` uses a new one each time. The tests print it, so that a run can be repeated. */
const seedOf = (soak: boolean) =>
  Number(process.env.GEN3D_TEST_SEED || (soak ? Math.floor(Math.random() * 2 ** 31) : 20_261_121));

export default defineConfig(({ mode }) => {
  const soak = mode === 'soak';
  // Set in each project: `extends` evaluates this file again, in the mode `test`.
  const provide = { soak, seed: seedOf(soak) };
  return {
    test: {
      // On a busy machine, real servers, child processes and ONNX sessions may be slow without being wrong.
      testTimeout: 120_000,
      hookTimeout: 120_000,
      // One more than the cores in CI, because many tests wait for child processes.
      maxWorkers: 3,
      // The files of a worker share its loaded modules, which saves over a minute. Tests must undo global changes.
      isolate: false,
      projects: [
        {
          extends: true,
          test: {
            name: 'gen3d',
            provide,
            include: ['packages/*/{src,test}/**/*.test.{ts,tsx}', 'scripts/**/*.test.ts'],
            exclude: [onlyPostgres, isolated, system, '**/node_modules/**'],
          },
        },
        { extends: true, test: { name: 'system', provide, include: [system], exclude: ['**/node_modules/**'] } },
        ...(loadNodeSqlite()
          ? [
              {
                extends: true as const,
                test: {
                  name: 'node-sqlite',
                  provide,
                  include: onNodeSqlite,
                  setupFiles: `${server}/test/without-better-sqlite3.ts`,
                },
              },
            ]
          : []),
        { extends: true, test: { name: 'isolated', isolate: true, include: [isolated] } },
        {
          extends: true,
          test: {
            name: 'postgres',
            provide,
            // By default, the tests of outages, fencing and clusters run whole jobs on PostgreSQL.
            include: [...onBothDatabases, onlyPostgres, ...(soak ? [`${server}/test/end-to-end.test.ts`] : [])],
            globalSetup: `${server}/test/postgres/global-setup.ts`,
            setupFiles: `${server}/test/postgres/require-postgres.ts`,
          },
        },
      ],
    },
  };
});
