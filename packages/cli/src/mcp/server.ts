import { existsSync } from 'node:fs';
import { JobStatus, Task } from '@gen3d/schema';
import { photoFormatNames } from '@gen3d/schema/rules';
import { type Gen3d, isTerminal, limits, type Task as TaskObject, WaitTimeoutError } from '@gen3d/sdk';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { type ServerOptions, withClient } from '../connection/client.js';
import { failureOf, UsageError } from '../exit/failure.js';
import { downloadModel } from '../jobs/job.js';
import { companionsOf, extensions, formatOf, requireJpegName } from '../jobs/output-file.js';
import { isDataUri, isUrl, labelOf, photoInput } from '../jobs/photo-input.js';
import { readPhotos } from '../jobs/photo-set.js';
import type { Folders } from './folders.js';

/** Most clients give up after 60 seconds. */
const waitSeconds = 50;
const repeatMs = 15_000;
const repeatedStep = 0.01;

const jobId = z.string().min(1).describe('The job_id from create');
const side = (where: string) =>
  z.string().min(1).optional().describe(`A photo of the same object from ${where}, in one of these forms`);
/** Accepts unknown fields in a task, because a newer server may add them. */
const task = z.looseObject(Task.shape);
const instructions = `gen3d turns a photo of one object into a textured 3D model, a GLB file.
Call create with a photo, then wait with the job_id (it takes seconds to minutes), then download to write the file.
Photos of the left, back and right of the same object make the model better.
The best photos show one complete object from slightly above the front, on a plain background.`;

/** Offers assistants the tools `create`, `wait`, `list` and `download`. Each call reads the profile again. */
export function mcpServer(version: string, folders: Folders, options: ServerOptions): McpServer {
  const server = new McpServer({ name: 'gen3d', title: 'gen3d', version }, { instructions });
  addCreate(server, options, folders);
  addWait(server, options);
  addList(server, options);
  addDownload(server, options, folders);
  return server;
}

function addCreate(server: McpServer, options: ServerOptions, folders: Folders): void {
  server.registerTool(
    'create',
    {
      title: 'Create a 3D model from a photo',
      description: 'Creates a job for the photos of one object and immediately returns its id. Call wait next.',
      inputSchema: z.strictObject({
        image: z
          .string()
          .min(1)
          .describe(
            `The photo: the path or file URL of a file (${photoFormatNames.join(', ')}), an http(s) URL or a data URI`,
          ),
        left: side('the left of the photographer'),
        back: side('behind'),
        right: side('the right of the photographer'),
        idempotency_key: z
          .string()
          .min(1)
          // Counts code points, like the server.
          .refine((key) => Array.from(key).length <= limits.idempotencyKeyLength.max)
          .optional()
          .describe('1 to 256 characters. Repeating a key returns the original job instead of creating another one'),
      }),
      outputSchema: { job_id: z.string() },
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    },
    ({ image, left, back, right, idempotency_key }, { signal }) =>
      runTool(options, signal, async (client, stop) => {
        // The server fetches every URL: an assistant must not make this machine send requests to its own network.
        const read = async (photo: string) =>
          isUrl(photo) || isDataUri(photo) ? photo : photoInput(await folders.existing(photo), stop);
        const views = Object.fromEntries(Object.entries({ left, back, right }).filter(([, photo]) => photo));
        const photos = await readPhotos({ front: image, views }, read);
        const params = { ...photos, idempotencyKey: idempotency_key, label: labelOf(image) };
        const created = await client.jobs.create(params, { signal: stop });
        return {
          structuredContent: { ...created },
          content: [text(`Created job ${created.job_id}. Call wait next.`)],
        };
      }),
  );
}

function addWait(server: McpServer, options: ServerOptions): void {
  server.registerTool(
    'wait',
    {
      title: 'Wait for a 3D model',
      description:
        'Waits until a job ends, and returns it with a thumbnail of the model. If the time runs out, the job continues: ' +
        'call wait again.',
      inputSchema: z.strictObject({
        job_id: jobId,
        timeout_seconds: z.number().min(1).max(3600).default(waitSeconds).describe('The maximum time to wait'),
      }),
      outputSchema: task.shape,
      annotations: { readOnlyHint: true },
    },
    ({ job_id, timeout_seconds }, { signal, _meta, sendNotification }) =>
      runTool(options, signal, async (client, stop) => {
        const token = _meta?.progressToken;
        let progress = -1;
        let message = 'waiting';
        const notify = () => {
          if (token === undefined) return;
          const params = { progressToken: token, progress, total: 100, message };
          // The assistant may have disconnected.
          sendNotification({ method: 'notifications/progress', params }).catch(() => {});
        };
        const onProgress = (task: TaskObject) => {
          if (task.progress <= progress) return;
          ({ progress, status: message } = task);
          notify();
        };
        // Clients that count the time since the last notification give up otherwise. The protocol requires each value
        // to be greater than the one before.
        const repeat = setInterval(() => {
          progress = Math.max(0, progress + repeatedStep);
          notify();
        }, repeatMs);
        const job = await client.jobs
          .wait(job_id, { signal: stop, timeoutMs: 1000 * timeout_seconds, onProgress })
          .catch((error: unknown) => {
            if (error instanceof WaitTimeoutError && error.task) return error.task;
            throw error;
          })
          .finally(() => clearInterval(repeat));
        const content: CallToolResult['content'] = [text(JSON.stringify(job))];
        if (!isTerminal(job.status)) content.unshift(text('The job is still running. Call wait again.'));
        if (job.thumbnail_url) {
          // Lets the assistant judge the model. Optional, so errors are ignored.
          const jpeg = await client.download(job, { asset: 'thumbnail', signal: stop }).catch(() => undefined);
          if (jpeg) content.push({ type: 'image', mimeType: 'image/jpeg', data: Buffer.from(jpeg).toString('base64') });
        }
        return { structuredContent: { ...job }, content };
      }),
  );
}

function addList(server: McpServer, options: ServerOptions): void {
  server.registerTool(
    'list',
    {
      title: 'List jobs',
      description: 'One page of the jobs of this account, newest first.',
      inputSchema: z.strictObject({
        status: z.optional(JobStatus).describe('Only jobs with this status'),
        limit: z
          .int()
          .min(limits.pageSize.min)
          .max(limits.pageSize.max)
          .default(limits.pageSize.default)
          .describe('The number of jobs on the page'),
        cursor: z.string().optional().describe('The next_cursor of the previous page'),
      }),
      outputSchema: { jobs: z.array(task), next_cursor: z.string().optional() },
      annotations: { readOnlyHint: true },
    },
    (query, { signal }) =>
      runTool(options, signal, async (client, stop) => {
        const page = await client.jobs.list(query, { signal: stop }).page();
        return { structuredContent: { ...page }, content: [text(JSON.stringify(page))] };
      }),
  );
}

function addDownload(server: McpServer, options: ServerOptions, folders: Folders): void {
  server.registerTool(
    'download',
    {
      title: 'Download a model',
      description:
        'Writes the model (GLB, or converted to OBJ, STL, 3MF or USDZ) or the thumbnail (JPEG) of a finished job.',
      inputSchema: z.strictObject({
        job_id: jobId,
        asset: z.enum(['glb', 'thumbnail']).default('glb').describe('The model or its thumbnail'),
        path: z
          .string()
          .min(1)
          .optional()
          .describe(`The file to write: ${extensions()}, or .jpg. Default: JOB_ID.glb or JOB_ID.jpg`),
        overwrite: z.boolean().default(false).describe('Whether to replace an existing file'),
      }),
      outputSchema: { path: z.string(), bytes: z.number() },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    },
    ({ job_id, asset, path, overwrite }, { signal }) =>
      runTool(options, signal, async (client, stop) => {
        const target = await folders.future(path ?? `${job_id}.${asset === 'glb' ? 'glb' : 'jpg'}`);
        // The errors of `downloadModel` name options of the command line.
        if (asset === 'glb') formatOf(target);
        else requireJpegName(target);
        for (const file of [target, ...companionsOf(target)]) {
          await folders.future(file);
          if (overwrite || !existsSync(file)) continue;
          throw new UsageError(`${file} already exists. Set overwrite to replace it, or choose another path`);
        }
        const job = await client.jobs.retrieve(job_id, { signal: stop });
        const { bytes, notes } = await downloadModel(client, job, target, { asset, force: overwrite, signal: stop });
        const described = [`${target}, ${bytes} bytes`, ...notes].join('\n');
        return { structuredContent: { path: target, bytes }, content: [text(described)] };
      }),
  );
}

const text = (content: string) => ({ type: 'text' as const, text: content });

/** Runs a tool call. Converts an error to a result with a message, which the assistant can act on. */
async function runTool(
  options: ServerOptions,
  signal: AbortSignal,
  work: (client: Gen3d, signal: AbortSignal) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  try {
    return await withClient(options, (client, interruption) => work(client, AbortSignal.any([signal, interruption])));
  } catch (error) {
    return { isError: true, content: [text(failureOf(error).message)] };
  }
}
