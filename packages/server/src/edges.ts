import { compatibleRoutes } from './foreign/compatible.js';
import { openModelServer } from './foreign/model-server/model-server.js';
import type { ServerEdges } from './serve.js';
import { storeEdges } from './store-edges.js';

/** This is the composition root. Only these two modules and index.ts import both the core and cluster/ or foreign/. */
export const edges: ServerEdges = { ...storeEdges, openModelServer, foreignRoutes: compatibleRoutes };
