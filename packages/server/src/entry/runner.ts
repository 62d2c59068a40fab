import { edges } from '../edges.js';
import { runRunner } from '../work/runner/main.js';

runRunner(edges);
