import { edges } from '../edges.js';
import { runPreparer } from '../work/preparation/main.js';

runPreparer(edges);
