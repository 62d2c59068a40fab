import { defineConfig } from 'vitest/config';

const server = 'packages/server';
/** Whole models and programs, their crashes, browsers, and documentation that runs programs. They take minutes. */
const system = '{packages,scripts}/**/*.system.test.ts';
const onlyPostgres = 'packages/{server,cli}/test/postgres/**/*.test.ts';
/** The tests whose result depends on the database: its queries, its transactions, and the contract. */
const onPostgres = [
  onlyPostgres,
  `${server}/src/data/{accounts,db,jobs,runners,webhooks}/**/*.test.ts`,
  `${server}/src/{cluster/identity,work/{webhooks/delivery,worker}}.test.ts`,
  `${server}/test/{admin,children,compatible-retries,deletion,events,gallery,make-again,query-plans}.test.ts`,
  `${server}/test/contract/*.test.ts`,
  `${server}/test/faults/{crash,hostile-minute,runners}.system.test.ts`,
];

/** Seed of random plans. `npm run test:soak` uses a new one each time. The tests print it, so that a run can be repeated. */
const seedOf = (soak: boolean) =>
  Number(process.env.GEN3D_TEST_SEED || (soak ? Math.floor(Math.random() * 2 ** 31) : 20_261_121));

/** `npm test` runs the project `gen3d`, `npm run test:system` the others. */
export default defineConfig(({ mode }) => {
  const soak = mode === 'soak';
  // Set in each project: `extends` evaluates this file again, in the mode `test`.
  const provide = { soak, seed: seedOf(soak) };
  return {
    test: {
      // These tests wait for whole models, programs and outages, which may be slow without being broken.
      testTimeout: 120_000,
      hookTimeout: 120_000,
      tags: [
        {
          name: 'slow',
          description:
            'Starts programs, or waits for models or large files, so it may take more than 7 s on a busy machine',
          timeout: 120_000,
        },
      ],
      expect: { poll: { timeout: 60_000 } },
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
            exclude: [onlyPostgres, system, '**/node_modules/**'],
            // Long enough for a slow machine: with six programs per core, nearly all tests without the tag `slow` took less
            // than half of it.
            testTimeout: 15_000,
            hookTimeout: 60_000,
          },
        },
        { extends: true, test: { name: 'system', provide, include: [system], exclude: ['**/node_modules/**'] } },
        {
          extends: true,
          test: {
            name: 'postgres',
            provide,
            // By default, the tests of outages, fencing and clusters run whole jobs on PostgreSQL.
            include: [...onPostgres, ...(soak ? [`${server}/test/end-to-end.system.test.ts`] : [])],
            globalSetup: `${server}/test/postgres/global-setup.ts`,
            setupFiles: `${server}/test/postgres/require-postgres.ts`,
          },
        },
      ],
    },
  };
});
