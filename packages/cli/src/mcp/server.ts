import { JobStatus, Task } from '@gen3d/schema';
import { isTerminal, limits, type Task as TaskObject, WaitTimeoutError } from '@gen3d/sdk';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { type ServerOptions, withClient } from '../connection/client.js';
import { failureOf } from '../exit/failure.js';
import { downloadModel } from '../jobs/job.js';
import { isUrl } from '../jobs/output-file.js';
import { isDataUri, photoInput } from '../jobs/photo-input.js';
import type { Folders } from './folders.js';

const jobId = z.string().min(1).describe('The id that create returned');
/** As the API gives it; a newer server may say more. */
const task = Task.loose();
const instructions = `gen3d turns a photo of one object into a textured 3D model, a GLB file.
Call create with a photo, then wait with the job_id (some seconds to minutes), then download to write the file.
Photos work best when they show one whole thing from a little above the front, on a plain background.`;

/** The tools of an assistant: `create`, `wait`, `list` and `download`. Each call looks for its server anew. */
export function mcpServer(version: string, folders: Folders, options: ServerOptions): McpServer {
  const server = new McpServer({ name: 'gen3d', title: 'gen3d', version }, { instructions });

  server.registerTool(
    'create',
    {
      title: 'Make a 3D model of a photo',
      description: 'Hands in one photo and returns the id of the job at once. Call wait next.',
      inputSchema: {
        image: z.string().min(1).describe("The photo: a file's path (PNG, JPEG or WebP), an http(s) URL or a data URI"),
        idempotency_key: z
          .string()
          .min(1)
          // Characters are code points, as the server counts them.
          .refine((key) => Array.from(key).length <= limits.idempotencyKeyLength.max)
          .optional()
          .describe('1 to 256 characters. The same key again returns the first job instead of making another'),
      },
      outputSchema: { job_id: z.string() },
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    },
    ({ image, idempotency_key }, { signal }) =>
      answer(options, signal, async (client, stop) => {
        const source = isUrl(image) || isDataUri(image) ? image : await folders.existing(image);
        const params = { image: await photoInput(source, stop), idempotencyKey: idempotency_key };
        const created = await client.jobs.create(params, { signal: stop });
        return {
          structuredContent: { ...created },
          content: [text(`Job ${created.job_id} was made. Call wait next.`)],
        };
      }),
  );

  server.registerTool(
    'wait',
    {
      title: 'Wait for a 3D model',
      description:
        'Waits until a job has ended and returns it, with a picture of the model. A job that is still running when the time is over goes on: call wait again.',
      inputSchema: {
        job_id: jobId,
        timeout_seconds: z.number().min(1).max(3600).default(300).describe('How long to wait at most'),
      },
      outputSchema: task.shape,
      annotations: { readOnlyHint: true },
    },
    ({ job_id, timeout_seconds }, { signal, _meta, sendNotification }) =>
      answer(options, signal, async (client, stop) => {
        const token = _meta?.progressToken;
        const onProgress = ({ status, progress }: TaskObject) => {
          if (token === undefined) return;
          const params = { progressToken: token, progress, total: 100, message: status };
          // Who has gone away needs no progress.
          sendNotification({ method: 'notifications/progress', params }).catch(() => {});
        };
        const state = await client.jobs
          .wait(job_id, { signal: stop, timeoutMs: 1000 * timeout_seconds, onProgress })
          .catch((error: unknown) => {
            if (error instanceof WaitTimeoutError && error.task) return error.task;
            throw error;
          });
        const content: CallToolResult['content'] = [text(JSON.stringify(state))];
        if (!isTerminal(state.status)) content.unshift(text('The job is still running: call wait again.'));
        if (state.thumbnail_url) {
          // A picture says whether the model is any good; without it the model is there all the same.
          const jpeg = await client.download(state, { asset: 'thumbnail', signal: stop }).catch(() => undefined);
          if (jpeg) content.push({ type: 'image', mimeType: 'image/jpeg', data: Buffer.from(jpeg).toString('base64') });
        }
        return { structuredContent: { ...state }, content };
      }),
  );

  server.registerTool(
    'list',
    {
      title: 'List jobs',
      description: 'One page of the jobs of this account, newest first.',
      inputSchema: {
        status: JobStatus.optional().describe('Only jobs in this status'),
        limit: z
          .int()
          .min(limits.pageSize.min)
          .max(limits.pageSize.max)
          .default(limits.pageSize.default)
          .describe('Jobs on the page'),
        cursor: z.string().optional().describe('The next_cursor of the page before'),
      },
      outputSchema: { jobs: z.array(task), next_cursor: z.string().optional() },
      annotations: { readOnlyHint: true },
    },
    (query, { signal }) =>
      answer(options, signal, async (client, stop) => {
        const page = await client.jobs.list(query, { signal: stop }).page();
        return { structuredContent: { ...page }, content: [text(JSON.stringify(page))] };
      }),
  );

  server.registerTool(
    'download',
    {
      title: 'Write a model into a file',
      description: "Writes a finished job's model (GLB) or its thumbnail (JPEG) into a file.",
      inputSchema: {
        job_id: jobId,
        asset: z.enum(['glb', 'thumbnail']).default('glb').describe('The model, or its picture'),
        path: z.string().min(1).optional().describe('The file to write. Default: JOB_ID.glb or JOB_ID.jpg'),
        overwrite: z.boolean().default(false).describe('Whether a file that is there already may be replaced'),
      },
      outputSchema: { path: z.string(), bytes: z.number() },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    },
    ({ job_id, asset, path, overwrite }, { signal }) =>
      answer(options, signal, async (client, stop) => {
        const place = await folders.future(path ?? `${job_id}.${asset === 'glb' ? 'glb' : 'jpg'}`);
        const state = await client.jobs.retrieve(job_id, { signal: stop });
        const size = await downloadModel(client, state, place, { asset, force: overwrite, signal: stop });
        return { structuredContent: { path: place, bytes: size }, content: [text(`${place}, ${size} bytes`)] };
      }),
  );

  return server;
}

const text = (words: string) => ({ type: 'text' as const, text: words });

/** Does one call's work. What goes wrong is a result that says so in a sentence, which an assistant can act on. */
async function answer(
  options: ServerOptions,
  signal: AbortSignal,
  work: (...args: Parameters<Parameters<typeof withClient>[1]>) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  try {
    return await withClient(options, (client, interrupted) => work(client, AbortSignal.any([signal, interrupted])));
  } catch (error) {
    return { isError: true, content: [text(failureOf(error).message)] };
  }
}
