import { z } from 'zod';
import { Balance } from './balance.js';
import { publicTestKey, signatureHeader, timestampHeader } from './credentials.js';
import {
  ErrorBody,
  type ErrorCode,
  forbiddenBody,
  InsufficientBalanceBody,
  TaskErrorCode,
  tooManyRequestsBody,
} from './errors.js';
import { PingEvent, TaskUpdatedEvent } from './events.js';
import { inlineImageTypes } from './image-data-uri.js';
import { ImageUrl } from './image-url.js';
import {
  CreateJobResponse,
  IdempotencyKey,
  ImageTo3dInput,
  ImageTo3dRequest,
  JobStatus,
  ListJobsResponse,
  ModelUrls,
  ReservedTypeRequest,
  Task,
  TaskError,
  Timestamp,
  Ulid,
} from './job.js';
import { jobType } from './lifecycle.js';
import { limits } from './limits.js';
import {
  PutWebhookEndpointRequest,
  PutWebhookEndpointResponse,
  RotateSecretResponse,
  TestWebhookResponse,
  WebhookEndpoint,
} from './webhook-endpoint.js';

/** JSON, as far as a document needs it. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

const MIB = 1024 * 1024;

/** What the document calls each schema. */
const named = {
  Balance,
  CreateJobResponse,
  ErrorBody,
  ImageTo3dInput,
  ImageTo3dRequest,
  ImageUrl,
  InsufficientBalanceBody,
  JobStatus,
  ListJobsResponse,
  ModelUrls,
  PingEvent,
  PutWebhookEndpointRequest,
  PutWebhookEndpointResponse,
  ReservedTypeRequest,
  RotateSecretResponse,
  Task,
  TaskError,
  TaskUpdatedEvent,
  TestWebhookResponse,
  Timestamp,
  Ulid,
  WebhookEndpoint,
} as const satisfies Record<string, z.ZodType>;

/** What zod checks in code and so cannot write down itself. */
const inWords: ReadonlyMap<unknown, JsonObject> = new Map<unknown, JsonObject>([
  [
    ImageUrl,
    {
      description: `An http(s) URL of an image of at most ${limits.remoteImageBytes / MIB} MiB, which the server fetches, or a data URI (${inlineImageTypes.join(', ')}; base64) of at most ${limits.inlineImageBytes / MIB} MiB decoded.`,
      examples: ['https://example.com/mug.jpg'],
    },
  ],
  [IdempotencyKey, { minLength: limits.idempotencyKeyLength.min, maxLength: limits.idempotencyKeyLength.max }],
  [ReservedTypeRequest.shape.type, { not: { const: jobType } }],
  [
    PutWebhookEndpointRequest.shape.url,
    { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]:', examples: ['https://example.com/gen3d'] },
  ],
  [TaskError, { description: `\`code\` is one of ${TaskErrorCode.options.join(', ')}, and may be a new one later.` }],
  [Balance.shape.rates, { description: 'USD per second of inference by serving instance.' }],
  [
    Task.shape.progress,
    { description: 'Advisory: 0 accepted, 5 preparing, 25 queued, up to 90 inference, 100 done. `status` decides.' },
  ],
  [Task.shape.finished_at, { description: 'null until the job has ended.' }],
  [ListJobsResponse.shape.next_cursor, { description: 'Absent on the last page.' }],
  [PutWebhookEndpointResponse.shape.secret, { description: 'Only when an endpoint is configured for the first time.' }],
]);

function componentSchemas(): JsonObject {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    target: 'draft-2020-12',
    // As a client sends it; and what a client receives may gain fields, which 'output' would forbid.
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ zodSchema, jsonSchema }) => void Object.assign(jsonSchema, inWords.get(zodSchema)),
  });
  const bare = Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [id, schema]);
  return Object.fromEntries(bare) as JsonObject;
}

const ref = (id: keyof typeof named | 'GatewayRefusal' | 'CreateJobRequest'): JsonObject => ({
  $ref: `#/components/schemas/${id}`,
});
const json = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });
const requestId: JsonObject = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };
const answer = (description: string, schema: JsonObject, headers: JsonObject = {}): JsonObject => ({
  description,
  headers: { ...requestId, ...headers },
  content: json(schema),
});

/** A refusal in the standard shape with one of these codes. */
const refusal = (description: string, ...codes: readonly ErrorCode[]): JsonObject =>
  answer(description, {
    allOf: [ref('ErrorBody'), { properties: { error: { properties: { code: { enum: codes } } } } }],
  });

/** What every route may answer. */
const always: JsonObject = {
  '403': { $ref: '#/components/responses/Forbidden' },
  '429': { $ref: '#/components/responses/TooManyRequests' },
  '500': { $ref: '#/components/responses/InternalError' },
  '503': { $ref: '#/components/responses/Unavailable' },
};

interface Operation {
  id: string;
  summary: string;
  description?: string;
  parameters?: readonly JsonObject[];
  body?: JsonObject;
  responses: JsonObject;
}

const operation = (tag: string, { id, summary, description, parameters, body, responses }: Operation): JsonObject => ({
  operationId: id,
  tags: [tag],
  summary,
  ...(description ? { description } : {}),
  ...(parameters ? { parameters } : {}),
  ...(body ? { requestBody: { required: true, content: json(body) } } : {}),
  responses: { ...responses, ...always },
});

const jobs = (details: Operation) => operation('jobs', details);
const endpoint = (details: Operation) => operation('webhook endpoint', details);
const inQuery = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
});

const paths: JsonObject = {
  '/v1/jobs': {
    post: jobs({
      id: 'createJob',
      summary: 'Create a job',
      description:
        'Answers at once; poll the job, or receive `task.updated`. The same `idempotency_key` again answers with the first job, whatever else the body says.',
      body: ref('CreateJobRequest'),
      responses: {
        '202': answer('The job is accepted.', ref('CreateJobResponse')),
        '400': refusal('Malformed JSON or a wrong field; the message names it.', 'invalid_request'),
        '402': answer('The balance is below the minimum.', {
          allOf: [
            ref('InsufficientBalanceBody'),
            { properties: { error: { properties: { code: { const: 'insufficient_balance' } } } } },
          ],
        }),
      },
    }),
    get: jobs({
      id: 'listJobs',
      summary: 'List jobs, newest first',
      parameters: [
        inQuery('status', 'Only jobs with this status.', ref('JobStatus')),
        inQuery('limit', 'Jobs a page.', {
          type: 'integer',
          minimum: limits.pageSize.min,
          maximum: limits.pageSize.max,
          default: limits.pageSize.default,
        }),
        inQuery('cursor', '`next_cursor` of the page before.', { type: 'string', pattern: '^[A-Za-z0-9_-]+$' }),
      ],
      responses: {
        '200': answer('A page of jobs.', ref('ListJobsResponse')),
        '400': refusal(
          'A parameter is wrong, or the cursor was not issued to this account.',
          'invalid_request',
          'invalid_cursor',
        ),
      },
    }),
  },
  '/v1/jobs/{id}': {
    get: jobs({
      id: 'getJob',
      summary: 'Retrieve a job',
      parameters: [{ name: 'id', in: 'path', required: true, description: 'The `job_id`.', schema: ref('Ulid') }],
      responses: {
        '200': answer('The job.', ref('Task'), { 'retry-after': { $ref: '#/components/headers/RetryAfter' } }),
        '400': refusal('The path is not percent-encoded as a URL must be.', 'invalid_request'),
        '404': refusal('There is no such job, or it belongs to another account.', 'not_found'),
      },
    }),
  },
  '/v1/balance': {
    get: operation('balance', {
      id: 'getBalance',
      summary: 'Balance and prices',
      responses: { '200': answer('The balance.', ref('Balance')) },
    }),
  },
  '/v1/webhook-endpoint': {
    put: endpoint({
      id: 'putWebhookEndpoint',
      summary: 'Set the URL that events are delivered to',
      body: ref('PutWebhookEndpointRequest'),
      responses: {
        '200': answer('The endpoint; with its secret the first time.', ref('PutWebhookEndpointResponse')),
        '400': refusal('`url` is missing, not https, or points to a private address.', 'invalid_request'),
      },
    }),
    get: endpoint({
      id: 'getWebhookEndpoint',
      summary: 'The endpoint and its current secret',
      responses: {
        '200': answer('The endpoint.', ref('WebhookEndpoint')),
        '404': refusal('No endpoint is configured.', 'not_configured'),
      },
    }),
    delete: endpoint({
      id: 'deleteWebhookEndpoint',
      summary: 'Stop all deliveries',
      responses: { '204': { description: 'There is no endpoint now.', headers: requestId } },
    }),
  },
  '/v1/webhook-endpoint/rotate': {
    post: endpoint({
      id: 'rotateWebhookSecret',
      summary: 'Replace the secret; the old one is worth nothing from now on',
      responses: {
        '200': answer('The new secret.', ref('RotateSecretResponse')),
        '404': refusal('No endpoint is configured.', 'not_configured'),
      },
    }),
  },
  '/v1/webhook-endpoint/test': {
    post: endpoint({
      id: 'testWebhook',
      summary: 'Send a ping, about 10 seconds from now',
      responses: {
        '202': answer('The ping is queued.', ref('TestWebhookResponse')),
        '409': refusal('No endpoint is configured.', 'not_configured'),
      },
    }),
  },
};

const delivery = (id: string, summary: string, event: JsonObject): JsonObject => ({
  post: {
    operationId: id,
    tags: ['events'],
    summary,
    description: `Any 2xx within ${limits.webhookTimeoutMs / 1_000} seconds is success; otherwise the delivery is retried up to ${limits.webhookRetries} times with the same event_id. Verify the signature over the raw body, before any JSON parser.`,
    // Not the API key: the signature is what tells a delivery from a forgery.
    security: [],
    parameters: [
      {
        name: timestampHeader,
        in: 'header',
        required: true,
        description: 'When this delivery went out.',
        schema: ref('Timestamp'),
      },
      {
        name: signatureHeader,
        in: 'header',
        required: true,
        description: `\`sha256=\` and the hexadecimal HMAC-SHA256 of \`<${timestampHeader}>.<raw body>\` under the endpoint's secret.`,
        schema: { type: 'string', pattern: '^sha256=[0-9a-f]{64}$' },
      },
    ],
    requestBody: { required: true, content: json(event) },
    responses: {
      '2XX': { description: 'Received.' },
      default: { description: 'Anything else, a redirect too, counts as a failure.' },
    },
  },
});

/** The contract as an OpenAPI 3.1 document: what `/openapi.json` answers and `docs/openapi.json` holds. */
export function openApiDocument(): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'gen3d',
      version: 'v1',
      description: `One photo in, one GLB out. The public test key \`${publicTestKey}\` makes jobs that succeed at once with a sample model. Model and thumbnail URLs are permanent and need no key.`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The server that this document came from' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [{ name: 'jobs' }, { name: 'balance' }, { name: 'webhook endpoint' }, { name: 'events' }],
    paths,
    webhooks: {
      'task.updated': delivery('taskUpdated', 'A job changed its status or progress', ref('TaskUpdatedEvent')),
      ping: delivery('ping', 'The ping that a webhook test asked for', ref('PingEvent')),
    },
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer <API key>. Recommended.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
      headers: {
        RequestId: { description: 'Names this request in the server’s log.', schema: { type: 'string' } },
        RetryAfter: {
          description: 'Seconds to wait before asking again.',
          schema: { type: 'string', pattern: '^\\d+$' },
        },
      },
      responses: {
        Forbidden: answer('The API key is missing, invalid or revoked, or may not be used here.', {
          allOf: [ref('GatewayRefusal'), { properties: { message: { const: forbiddenBody.message } } }],
        }),
        TooManyRequests: answer(
          `More than ${limits.requestsPerSecond} requests a second, or ${limits.requestBurst} at once, over the whole API; or, on creating a job, as many unfinished jobs as the account may have.`,
          { allOf: [ref('GatewayRefusal'), { properties: { message: { const: tooManyRequestsBody.message } } }] },
          { 'retry-after': { $ref: '#/components/headers/RetryAfter' } },
        ),
        InternalError: refusal('A failure on the service side; retry with backoff.', 'internal_error'),
        Unavailable: answer(
          'The server cannot take this now; retry with backoff.',
          {
            allOf: [ref('ErrorBody'), { properties: { error: { properties: { code: { const: 'internal_error' } } } } }],
          },
          { 'retry-after': { $ref: '#/components/headers/RetryAfter' } },
        ),
      },
      schemas: {
        ...componentSchemas(),
        CreateJobRequest: { oneOf: [ref('ImageTo3dRequest'), ref('ReservedTypeRequest')] },
        GatewayRefusal: {
          description: 'A refusal before the request reached the API. Not the standard error shape.',
          type: 'object',
          properties: { message: { type: 'string' } },
          required: ['message'],
        },
      },
    },
  };
}
