// Benchmarks that show what a machine can do. All print Markdown; docs/benchmarks.md contains their output.
//
//   npm run bench             each demo photo through a real server and the real command line
//   npm run bench engine      the engine alone: time and memory of each stage
//                             both can be compared with another commit: `npm run bench -- --against COMMIT`
//   npm run bench api         the API with a million jobs, next to bare Express and SQLite's own commits, and to other
//                             commits with one or several `--against COMMIT`
import { benchApi } from './bench/api.mjs';
import { benchEngine } from './bench/engine.mjs';
import { runBench } from './bench/run.mjs';
import { benchServer } from './bench/server.mjs';

await runBench({ server: benchServer, engine: benchEngine, api: benchApi });
