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
import { maxLabelLength } from './label.js';
import { jobType } from './lifecycle.js';
import { limits } from './limits.js';
import {
  PutWebhookEndpointRequest,
  PutWebhookEndpointResponse,
  RotateSecretResponse,
  TestWebhookResponse,
  WebhookEndpoint,
} from './webhook-endpoint.js';

/** A JSON value. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

const mebibyte = 1024 ** 2;

/** The name of each schema in the document. */
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

/** Adds what zod cannot derive from the schemas: descriptions, examples, and rules that are checked in code. */
const annotations: ReadonlyMap<unknown, JsonObject> = new Map<unknown, JsonObject>([
  [
    ImageUrl,
    {
      description: `An http(s) URL of an image up to ${limits.remoteImageBytes / mebibyte} MiB, which the server fetches, or a base64 data URI (${inlineImageTypes.join(', ')}) up to ${limits.inlineImageBytes / mebibyte} MiB decoded.`,
      examples: ['https://example.com/mug.jpg'],
    },
  ],
  [IdempotencyKey, { minLength: limits.idempotencyKeyLength.min, maxLength: limits.idempotencyKeyLength.max }],
  [ReservedTypeRequest.shape.type, { not: { const: jobType } }],
  [
    PutWebhookEndpointRequest.shape.url,
    { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]:', examples: ['https://example.com/gen3d'] },
  ],
  [TaskError, { description: `\`code\` is one of ${TaskErrorCode.options.join(', ')}. More codes may be added.` }],
  [Balance.shape.rates, { description: 'USD per second of inference, by serving instance.' }],
  [
    Task.shape.progress,
    {
      description:
        'Advisory: 0 accepted, 5 preparing, 25 queued, 30 to 90 inference, 100 done. `status` is authoritative.',
    },
  ],
  [Task.shape.finished_at, { description: 'null until the job ends.' }],
  [ListJobsResponse.shape.next_cursor, { description: 'Absent on the last page.' }],
  [PutWebhookEndpointResponse.shape.secret, { description: 'Present only when an endpoint is first configured.' }],
]);

function componentSchemas(): JsonObject {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    target: 'draft-2020-12',
    // Requests as clients send them. 'output' would also forbid additional fields in responses.
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ zodSchema, jsonSchema }) => void Object.assign(jsonSchema, annotations.get(zodSchema)),
  });
  const bare = Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [id, schema]);
  return Object.fromEntries(bare) as JsonObject;
}

const ref = (id: keyof typeof named | 'GatewayRefusal' | 'CreateJobRequest'): JsonObject => ({
  $ref: `#/components/schemas/${id}`,
});
const json = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });
const requestId: JsonObject = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };
const response = (description: string, schema: JsonObject, headers: JsonObject = {}): JsonObject => ({
  description,
  headers: { ...requestId, ...headers },
  content: json(schema),
});

/** An error response of the standard shape with one of these codes. */
const errorResponse = (description: string, ...codes: readonly ErrorCode[]): JsonObject =>
  response(description, {
    allOf: [ref('ErrorBody'), { properties: { error: { properties: { code: { enum: codes } } } } }],
  });

/** Error responses of every route. */
const commonResponses: JsonObject = {
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
  responses: { ...responses, ...commonResponses },
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
        'Returns immediately. Poll the job, or receive `task.updated` events. Repeating an `idempotency_key` returns the original job, regardless of the rest of the body.',
      parameters: [
        {
          name: 'X-Gen3d-Label',
          in: 'header',
          description: `A name for the job, as percent-encoded UTF-8: at most ${maxLabelLength} characters. Only routes outside this API return it.`,
          schema: { type: 'string' },
        },
      ],
      body: ref('CreateJobRequest'),
      responses: {
        '202': response('The job is accepted.', ref('CreateJobResponse')),
        '400': errorResponse('Malformed JSON, or an invalid field. The message names the field.', 'invalid_request'),
        '402': response('The balance is below the minimum.', {
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
        inQuery('limit', 'The number of jobs per page.', {
          type: 'integer',
          minimum: limits.pageSize.min,
          maximum: limits.pageSize.max,
          default: limits.pageSize.default,
        }),
        inQuery('cursor', 'The `next_cursor` of the previous page.', { type: 'string', pattern: '^[A-Za-z0-9_-]+$' }),
      ],
      responses: {
        '200': response('A page of jobs.', ref('ListJobsResponse')),
        '400': errorResponse(
          'A parameter is invalid, or the cursor was not issued to this account.',
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
        '200': response('The job.', ref('Task'), {
          'retry-after': { $ref: '#/components/headers/RetryAfter' },
          'retry-after-ms': { $ref: '#/components/headers/RetryAfterMs' },
          'x-gen3d-queue-position': { $ref: '#/components/headers/QueuePosition' },
          'x-gen3d-expected-seconds': { $ref: '#/components/headers/ExpectedSeconds' },
          'x-gen3d-stage': { $ref: '#/components/headers/Stage' },
        }),
        '400': errorResponse('The path is not validly percent-encoded.', 'invalid_request'),
        '404': errorResponse('The job does not exist, or it belongs to another account.', 'not_found'),
      },
    }),
  },
  '/v1/balance': {
    get: operation('balance', {
      id: 'getBalance',
      summary: 'Balance and prices',
      responses: { '200': response('The balance.', ref('Balance')) },
    }),
  },
  '/v1/webhook-endpoint': {
    put: endpoint({
      id: 'putWebhookEndpoint',
      summary: 'Set the URL for events',
      body: ref('PutWebhookEndpointRequest'),
      responses: {
        '200': response(
          'The endpoint, with its secret when it is first configured.',
          ref('PutWebhookEndpointResponse'),
        ),
        '400': errorResponse(
          '`url` is missing, is not an https URL, or points to a private address.',
          'invalid_request',
        ),
      },
    }),
    get: endpoint({
      id: 'getWebhookEndpoint',
      summary: 'The endpoint and its current secret',
      responses: {
        '200': response('The endpoint.', ref('WebhookEndpoint')),
        '404': errorResponse('No endpoint is configured.', 'not_configured'),
      },
    }),
    delete: endpoint({
      id: 'deleteWebhookEndpoint',
      summary: 'Stop all deliveries',
      responses: { '204': { description: 'The account has no endpoint.', headers: requestId } },
    }),
  },
  '/v1/webhook-endpoint/rotate': {
    post: endpoint({
      id: 'rotateWebhookSecret',
      summary: 'Replace the secret; the old one stops working immediately',
      responses: {
        '200': response('The new secret.', ref('RotateSecretResponse')),
        '404': errorResponse('No endpoint is configured.', 'not_configured'),
      },
    }),
  },
  '/v1/webhook-endpoint/test': {
    post: endpoint({
      id: 'testWebhook',
      summary: 'Send a ping in about 10 seconds',
      responses: {
        '202': response('The ping is queued.', ref('TestWebhookResponse')),
        '409': errorResponse('No endpoint is configured.', 'not_configured'),
      },
    }),
  },
};

const delivery = (id: string, summary: string, event: JsonObject): JsonObject => ({
  post: {
    operationId: id,
    tags: ['events'],
    summary,
    description: `A 2xx response within ${limits.webhookTimeoutMs / 1_000} seconds counts as success. Otherwise, the delivery is retried up to ${limits.webhookRetries} times with the same event_id. Verify the signature against the raw body, before parsing JSON.`,
    // Deliveries are authenticated by their signature, not by an API key.
    security: [],
    parameters: [
      {
        name: timestampHeader,
        in: 'header',
        required: true,
        description: 'The time of this delivery.',
        schema: ref('Timestamp'),
      },
      {
        name: signatureHeader,
        in: 'header',
        required: true,
        description: `\`sha256=\` and the hexadecimal HMAC-SHA256 of \`<${timestampHeader}>.<raw body>\`, keyed with the endpoint's secret.`,
        schema: { type: 'string', pattern: '^sha256=[0-9a-f]{64}$' },
      },
    ],
    requestBody: { required: true, content: json(event) },
    responses: {
      '2XX': { description: 'Received.' },
      default: { description: 'Any other response, including a redirect, counts as a failure.' },
    },
  },
});

/** The contract as an OpenAPI 3.1 document, served at `/openapi.json` and stored in `docs/openapi.json`. */
export function openApiDocument(): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'gen3d',
      version: 'v1',
      description: `One photo in, one GLB out. The public test key \`${publicTestKey}\` creates jobs that succeed immediately with a sample model. Model and thumbnail URLs are permanent and require no key.`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The server that served this document' }],
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
        RequestId: { description: 'Identifies this request in the server’s log.', schema: { type: 'string' } },
        RetryAfter: {
          description: 'Seconds to wait before the next request.',
          schema: { type: 'string', pattern: '^\\d+$' },
        },
        RetryAfterMs: {
          description: 'Milliseconds to wait before the next request, if the end of the job can be estimated.',
          schema: { type: 'string', pattern: '^\\d+$' },
        },
        QueuePosition: {
          description:
            'Position of a waiting job in the queue of all accounts: 1 is the next. Absent if the job is far back.',
          schema: { type: 'string', pattern: '^\\d+$' },
        },
        ExpectedSeconds: {
          description: 'Seconds until the end of an unfinished job, if they can be estimated.',
          schema: { type: 'string', pattern: '^\\d+$' },
        },
        Stage: {
          description: 'The current stage of inference, such as `surface`, if it is known.',
          schema: { type: 'string' },
        },
      },
      responses: {
        Forbidden: response('The API key is missing, invalid, revoked, or not allowed here.', {
          allOf: [ref('GatewayRefusal'), { properties: { message: { const: forbiddenBody.message } } }],
        }),
        TooManyRequests: response(
          `More than ${limits.requestsPerSecond} requests per second, or a burst of more than ${limits.requestBurst}, across the whole API. On creating a job, also: the account has the maximum number of unfinished jobs.`,
          { allOf: [ref('GatewayRefusal'), { properties: { message: { const: tooManyRequestsBody.message } } }] },
          { 'retry-after': { $ref: '#/components/headers/RetryAfter' } },
        ),
        InternalError: errorResponse('An error on the server. Retry with backoff.', 'internal_error'),
        Unavailable: response(
          'Temporarily unavailable. Retry with backoff.',
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
          description: 'Rejected before reaching the API. Does not have the standard error shape.',
          type: 'object',
          properties: { message: { type: 'string' } },
          required: ['message'],
        },
      },
    },
  };
}
