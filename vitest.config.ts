import { defineConfig } from 'vitest/config';

const server = 'packages/server';
/** The tests that have to do with the database: each runs on SQLite and on PostgreSQL. Those of one of them say so by name. */
const onBothDatabases = [
  `${server}/src/data/{accounts,db,jobs,runners}/**/*.test.ts`,
  `${server}/src/work/preparation/preparer.test.ts`,
  `${server}/src/work/stages/held-jobs.test.ts`,
  `${server}/src/work/webhooks/delivery.test.ts`,
  `${server}/test/{admin,assets,dashboard,end-to-end,gateway,operator-password,query-plans,seen-from-outside}.test.ts`,
  `${server}/test/contract/*.test.ts`,
  `${server}/src/data/webhooks/delivery-log.test.ts`,
  `${server}/test/faults/{crash,hostile-requests,runners,slow-hosts,webhooks}.test.ts`,
];
const onlyPostgres = 'packages/{server,cli}/test/postgres/**/*.test.ts';

/** The seed of random plans. `npm run test:soak` takes another one every time, and prints it. */
const seedOf = (soak: boolean) =>
  Number(process.env.GEN3D_TEST_SEED || (soak ? Math.floor(Math.random() * 2 ** 31) : 20_261_121));

export default defineConfig(({ mode }) => ({
  test: {
    // Some tests have a long version, which `npm run test:soak` runs.
    provide: { soak: mode === 'soak', seed: seedOf(mode === 'soak') },
    // Real servers, child processes and ONNX sessions share two cores in CI: a file may be slow without being wrong.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    // The files of a worker share its loaded modules, which saves two minutes. Tests therefore undo what they change.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'gen3d',
          include: ['packages/*/{src,test}/**/*.test.ts', 'scripts/**/*.test.ts'],
          exclude: [onlyPostgres, '**/node_modules/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: [...onBothDatabases, onlyPostgres],
          globalSetup: `${server}/test/postgres/global-setup.ts`,
          setupFiles: `${server}/test/postgres/require-postgres.ts`,
        },
      },
    ],
  },
}));
