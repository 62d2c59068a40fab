// Responses of the API about jobs. The dashboard checks them in browsers, so they use zod/mini, which is a third of
// zod's size. The descriptions are those of the OpenAPI document.
import * as z from 'zod/mini';
import { TaskErrorCode } from './errors.js';
import { jobStatuses, jobType } from './lifecycle.js';

/** A ULID: 26 characters of Crockford's base 32, sortable by creation time. The first character is at most 7. */
export const Ulid = z.string().check(z.regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'must be a ULID (26 characters)'));

/** ISO 8601 in UTC, as `Date.prototype.toISOString` writes it. */
export const Timestamp = z.iso.datetime();

export const JobStatus = z.enum(jobStatuses, `must be one of ${jobStatuses.join(', ')}`);
export type JobStatus = z.infer<typeof JobStatus>;

export const ModelUrls = z.object({ glb: z.url() });

export const TaskError = z
  .object({ code: z.string(), message: z.string() })
  .check(z.describe(`\`code\` is one of ${TaskErrorCode.options.join(', ')}. More codes may be added.`));
export type TaskError = { code: TaskErrorCode; message: string };

/** A job, as the API returns it (docs/contract.md section 2.1). */
export const Task = z.object({
  task_id: Ulid,
  type: z.literal(jobType),
  status: JobStatus,
  progress: z
    .number()
    .check(
      z.minimum(0),
      z.maximum(100),
      z.describe(
        'Advisory: 0 accepted, 5 preparing, 25 queued, 30 to 90 inference, 100 done. `status` is authoritative.',
      ),
    ),
  model_urls: z.nullish(ModelUrls),
  thumbnail_url: z.nullish(z.url()),
  error: z.nullish(TaskError),
  created_at: Timestamp,
  finished_at: z.nullable(Timestamp).check(z.describe('null until the job ends.')),
});
export type Task = z.infer<typeof Task>;

export const CreateJobResponse = z.object({ job_id: Ulid });
export type CreateJobResponse = z.infer<typeof CreateJobResponse>;

/** Pass it as `cursor` to get the list's next page. */
export const NextCursor = z.optional(z.string()).check(z.describe('Absent on the last page.'));

/** `next_cursor` is absent on the last page. */
export const ListJobsResponse = z.object({ jobs: z.array(Task), next_cursor: NextCursor });
export type ListJobsResponse = z.infer<typeof ListJobsResponse>;
