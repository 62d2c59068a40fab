import { z } from 'zod';
import { GalleryCounts, GalleryJob, GalleryPage, jobGroups } from './dashboard.js';
import * as api from './index.js';
import { maxLabelLength } from './label.js';
import { samplerLimits } from './sampler.js';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

const { limits, signatureHeader, timestampHeader } = api;

/** These schemas get a name of their own in the document. */
const names = [
  'Balance',
  'CreateJobResponse',
  'ErrorBody',
  'ImageTo3dInput',
  'ImageTo3dRequest',
  'ImageUrl',
  'InsufficientBalanceBody',
  'JobStatus',
  'ListJobsResponse',
  'ModelUrls',
  'PingEvent',
  'PutWebhookEndpointRequest',
  'PutWebhookEndpointResponse',
  'ReservedTypeRequest',
  'RotateSecretResponse',
  'Task',
  'TaskError',
  'TaskUpdatedEvent',
  'TestWebhookResponse',
  'Timestamp',
  'Ulid',
  'WebhookEndpoint',
] as const satisfies readonly (keyof typeof api)[];
/** These are of gen3d's own routes, which the contract does not have. */
const ownSchemas = { GalleryCounts, GalleryJob, GalleryPage };
const schemas: Pick<typeof api, (typeof names)[number]> = api;

function componentSchemas(): JsonObject {
  const registry = z.registry<{ id: string }>();
  for (const id of names) registry.add(schemas[id], { id });
  for (const [id, schema] of Object.entries(ownSchemas)) registry.add(schema, { id });
  const { schemas: components } = z.toJSONSchema(registry, {
    target: 'draft-2020-12',
    // Requests as clients send them. 'output' would also forbid additional fields in responses.
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
  });
  const bare = Object.entries(components).map(([id, { $schema, $id, ...schema }]) => [id, schema]);
  return Object.fromEntries(bare) as JsonObject;
}

const digits: JsonObject = { type: 'string', pattern: '^\\d+$' };

/** Response headers by name. The names are also their ids in the document. */
const headers = {
  'x-request-id': { description: 'Identifies this request in the server’s log.', schema: { type: 'string' } },
  'retry-after': { description: 'Seconds to wait before the next request.', schema: digits },
  'x-gen3d-queue-position': {
    description:
      'Position of a waiting job in the queue of all accounts: 1 is the next. Absent if the job is far back.',
    schema: digits,
  },
  'x-gen3d-stage': {
    description: 'The current stage of inference, such as `surface`, if it is known.',
    schema: { type: 'string' },
  },
  'x-gen3d-failing-since': {
    description: 'Every delivery since then has failed. Absent if the last one succeeded.',
    schema: { type: 'string', format: 'date-time' },
  },
  'x-gen3d-paused-until': {
    description: 'No delivery is made before then, because all have failed for at least a day.',
    schema: { type: 'string', format: 'date-time' },
  },
} as const;

const withHeaders = (...used: readonly (keyof typeof headers)[]): JsonObject =>
  Object.fromEntries(['x-request-id', ...used].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const ref = (
  id: (typeof names)[number] | keyof typeof ownSchemas | 'GatewayRefusal' | 'CreateJobRequest',
): JsonObject => ({
  $ref: `#/components/schemas/${id}`,
});
const json = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } });
const response = (description: string, schema: JsonObject, ...used: readonly (keyof typeof headers)[]): JsonObject => ({
  description,
  headers: withHeaders(...used),
  content: json(schema),
});

/** Describes an error body with one of these codes. */
const withCode = (body: 'ErrorBody' | 'InsufficientBalanceBody', ...codes: readonly string[]): JsonObject => ({
  allOf: [ref(body), { properties: { error: { properties: { code: { enum: codes } } } } }],
});
const errorResponse = (description: string, ...codes: readonly string[]): JsonObject =>
  response(description, withCode('ErrorBody', ...codes));
/** Describes an error body of the gateway. */
const refusal = ({ message }: { message: string }): JsonObject => ({
  allOf: [ref('GatewayRefusal'), { properties: { message: { const: message } } }],
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

/** The tags of the routes, by the start of their paths. */
const tags = {
  '/v1/jobs': 'jobs',
  '/v1/balance': 'balance',
  '/v1/webhook-endpoint': 'webhook endpoint',
  '/gen3d': 'gen3d',
};

function operation(path: string, { id, summary, description, parameters, body, responses }: Operation): JsonObject {
  const [, tag = ''] = Object.entries(tags).find(([start]) => path.startsWith(start)) ?? [];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description ? { description } : {}),
    ...(parameters ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: json(body) } } : {}),
    responses: { ...responses, ...commonResponses },
    // Other servers of the contract do not have these routes.
    ...(tag === 'gen3d' ? { 'x-gen3d-only': true } : {}),
  };
}

/** Converts operations by method and path, such as `get /v1/jobs`, to the document's paths. */
function pathsOf(operations: Readonly<Record<string, Operation>>): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const [route, details] of Object.entries(operations)) {
    const [method = '', path = ''] = route.split(' ');
    paths[path] = { ...paths[path], [method]: operation(path, details) };
  }
  return paths;
}

const inQuery = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
});

const jobId: JsonObject = { name: 'id', in: 'path', required: true, description: 'The `job_id`.', schema: ref('Ulid') };
const pageParameters: readonly JsonObject[] = [
  inQuery('limit', 'The number of jobs per page.', {
    type: 'integer',
    minimum: limits.pageSize.min,
    maximum: limits.pageSize.max,
    default: limits.pageSize.default,
  }),
  inQuery('cursor', 'The `next_cursor` of the previous page.', { type: 'string', pattern: '^[A-Za-z0-9_-]+$' }),
];
const inHeader = (name: string, description: string): JsonObject => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
});
const samplerParameter = inHeader(
  'X-Gen3d-Sampler',
  `For networks that make a model in steps: \`seed=0\` to \`${samplerLimits.seed.max}\`, \`steps=1\` to \`${samplerLimits.steps.max}\`, or both, joined by \`&\`.`,
);
const unknownJob: JsonObject = {
  '400': errorResponse('The path or a header is invalid.', 'invalid_request'),
  '404': errorResponse('The job does not exist, or it belongs to another account.', 'not_found'),
};
const insufficientBalance = response(
  'The balance is below the minimum.',
  withCode('InsufficientBalanceBody', 'insufficient_balance'),
);

const routes: Readonly<Record<string, Operation>> = {
  'post /v1/jobs': {
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
      samplerParameter,
    ],
    body: ref('CreateJobRequest'),
    responses: {
      '202': response('The job is accepted.', ref('CreateJobResponse')),
      '400': errorResponse('Malformed JSON, or an invalid field. The message names the field.', 'invalid_request'),
      '402': insufficientBalance,
    },
  },
  'get /v1/jobs': {
    id: 'listJobs',
    summary: 'List jobs, newest first',
    parameters: [inQuery('status', 'Only jobs with this status.', ref('JobStatus')), ...pageParameters],
    responses: {
      '200': response('A page of jobs.', ref('ListJobsResponse')),
      '400': errorResponse(
        'A parameter is invalid, or the cursor was not issued to this account.',
        'invalid_request',
        'invalid_cursor',
      ),
    },
  },
  'get /v1/jobs/{id}': {
    id: 'getJob',
    summary: 'Retrieve a job',
    parameters: [jobId],
    responses: {
      '200': response('The job.', ref('Task'), 'retry-after', 'x-gen3d-queue-position', 'x-gen3d-stage'),
      ...unknownJob,
    },
  },
  'get /v1/balance': {
    id: 'getBalance',
    summary: 'Balance and prices',
    responses: { '200': response('The balance.', ref('Balance')) },
  },
  'put /v1/webhook-endpoint': {
    id: 'putWebhookEndpoint',
    summary: 'Set the URL for events',
    body: ref('PutWebhookEndpointRequest'),
    responses: {
      '200': response('The endpoint, with its secret when it is first configured.', ref('PutWebhookEndpointResponse')),
      '400': errorResponse('`url` is missing, is not an https URL, or points to a private address.', 'invalid_request'),
    },
  },
  'get /v1/webhook-endpoint': {
    id: 'getWebhookEndpoint',
    summary: 'The endpoint and its current secret',
    responses: {
      '200': response('The endpoint.', ref('WebhookEndpoint'), 'x-gen3d-failing-since', 'x-gen3d-paused-until'),
      '404': errorResponse('No endpoint is configured.', 'not_configured'),
    },
  },
  'delete /v1/webhook-endpoint': {
    id: 'deleteWebhookEndpoint',
    summary: 'Stop all deliveries',
    responses: { '204': { description: 'The account has no endpoint.', headers: withHeaders() } },
  },
  'post /v1/webhook-endpoint/rotate': {
    id: 'rotateWebhookSecret',
    summary: 'Replace the secret; the old one stops working immediately',
    responses: {
      '200': response('The new secret.', ref('RotateSecretResponse')),
      '404': errorResponse('No endpoint is configured.', 'not_configured'),
    },
  },
  'post /v1/webhook-endpoint/test': {
    id: 'testWebhook',
    summary: 'Send a ping in about 10 seconds',
    responses: {
      '202': response('The ping is queued.', ref('TestWebhookResponse')),
      '409': errorResponse('No endpoint is configured.', 'not_configured'),
    },
  },
};

const stream = (details: Pick<Operation, 'id' | 'summary' | 'parameters'>, others: JsonObject): Operation => ({
  ...details,
  description:
    'Server-sent events. `id` is the event’s id, and `data` is a TaskUpdatedEvent. The server sends a comment at least every 10 seconds.',
  parameters: [...(details.parameters ?? []), inHeader('Last-Event-ID', 'Continues after this event.')],
  responses: {
    '200': {
      description: 'The stream of events.',
      headers: withHeaders(),
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    '400': errorResponse('A header is invalid.', 'invalid_request'),
    ...others,
  },
});

const noContent = (description: string): JsonObject => ({ description, headers: withHeaders() });

/** Routes of docs/job-list.md and docs/webhooks.md. */
const ownRoutes: Readonly<Record<string, Operation>> = {
  'get /gen3d/jobs': {
    id: 'searchJobs',
    summary: 'Search and count jobs, newest first',
    parameters: [
      inQuery('search', 'Only jobs whose label contains this text, or whose id starts with it.', { type: 'string' }),
      inQuery('id', 'Only jobs whose id starts with this.', { type: 'string' }),
      inQuery('group', 'Only jobs of this group. Canceled jobs are in `failed`.', { enum: jobGroups }),
      inQuery('status', 'Only jobs with this status.', ref('JobStatus')),
      ...pageParameters,
    ],
    responses: {
      '200': response('A page of jobs.', ref('GalleryPage')),
      '400': errorResponse('A parameter is invalid.', 'invalid_request', 'invalid_cursor'),
    },
  },
  'get /gen3d/jobs/{id}': {
    id: 'getGalleryJob',
    summary: 'Retrieve a job with its label and what can be done with it',
    parameters: [jobId],
    responses: { '200': response('The job.', ref('GalleryJob')), ...unknownJob },
  },
  'delete /gen3d/jobs/{id}': {
    id: 'deleteJob',
    summary: 'Delete a job with its model, photo, label and events',
    description: 'Repeating the request does nothing.',
    parameters: [jobId],
    responses: {
      '204': noContent('The job is deleted.'),
      ...unknownJob,
      '409': errorResponse('The job is in inference. Cancel it first.', 'not_deletable'),
    },
  },
  'post /gen3d/jobs/{id}/cancel': {
    id: 'cancelJob',
    summary: 'Cancel an unfinished job, which then costs nothing',
    parameters: [jobId],
    responses: {
      '200': response('The canceled job.', ref('GalleryJob')),
      ...unknownJob,
      '409': errorResponse('The job is finished.', 'not_cancelable'),
    },
  },
  'post /gen3d/jobs/{id}/retry': {
    id: 'retryJob',
    summary: 'Create a job with the photo of a finished one',
    parameters: [
      jobId,
      samplerParameter,
      inHeader('Idempotency-Key', 'A repeated request with the same key returns the same job.'),
    ],
    responses: {
      '202': response('The new job is accepted.', ref('CreateJobResponse')),
      '402': insufficientBalance,
      ...unknownJob,
      '409': errorResponse('The job is not finished, or its photo is gone.', 'not_retryable'),
    },
  },
  'put /gen3d/jobs/{id}/share': {
    id: 'shareJob',
    summary: 'Give a finished model a public page',
    parameters: [jobId],
    responses: { '200': response('The job, with its `share_path`.', ref('GalleryJob')), ...unknownJob },
  },
  'delete /gen3d/jobs/{id}/share': {
    id: 'unshareJob',
    summary: 'Remove the public page of a model',
    parameters: [jobId],
    responses: { '204': noContent('The model has no public page.'), '400': unknownJob['400'] as JsonObject },
  },
  'get /gen3d/jobs/{id}/events': stream(
    { id: 'streamJobEvents', summary: 'Stream the events of a job, until its last one', parameters: [jobId] },
    {
      '204': noContent('The job has ended, and its last event is the one in Last-Event-ID.'),
      '404': unknownJob['404'] as JsonObject,
    },
  ),
  'get /gen3d/events': stream(
    { id: 'streamEvents', summary: 'Stream the events of all jobs, from the next one on' },
    {},
  ),
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

/** Describes the contract as an OpenAPI 3.1 document, for `/openapi.json` on a server and for `docs/openapi.json`. */
export function openApiDocument(): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'gen3d',
      version: 'v1',
      description: `One photo in, one GLB out. The public test key \`${api.publicTestKey}\` creates jobs that succeed immediately with a sample model. Model and thumbnail URLs are permanent and require no key.`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The server that served this document' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [
      { name: 'jobs', description: 'Create jobs, and poll them.' },
      { name: 'balance', description: 'What the account has, and what jobs cost.' },
      { name: 'webhook endpoint', description: 'Where the server posts events.' },
      { name: 'events', description: 'What the server posts to the endpoint.' },
      {
        name: 'gen3d',
        description:
          'Routes of gen3d’s own server, beside the contract, marked with `x-gen3d-only`. Versions add fields and values, and remove none before the next major version.',
      },
    ],
    paths: pathsOf({ ...routes, ...ownRoutes }),
    webhooks: {
      'task.updated': delivery('taskUpdated', 'A job changed its status or progress', ref('TaskUpdatedEvent')),
      ping: delivery('ping', 'The ping that a webhook test asked for', ref('PingEvent')),
    },
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer <API key>. Recommended.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
      headers,
      responses: {
        Forbidden: response(
          'The API key is missing, invalid, revoked, or not allowed here.',
          refusal(api.forbiddenBody),
        ),
        TooManyRequests: response(
          `More than ${limits.requestsPerSecond} requests per second, or a burst of more than ${limits.requestBurst}, across the whole API. On creating a job, also: the account has the maximum number of unfinished jobs, or has reached a quota, which the message names.`,
          { anyOf: [refusal(api.tooManyRequestsBody), withCode('ErrorBody', 'quota_exceeded')] },
          'retry-after',
        ),
        InternalError: errorResponse('An error on the server. Retry with backoff.', 'internal_error'),
        Unavailable: response(
          'Temporarily unavailable. Retry with backoff.',
          withCode('ErrorBody', 'internal_error'),
          'retry-after',
        ),
      },
      schemas: {
        ...componentSchemas(),
        CreateJobRequest: { anyOf: [ref('ImageTo3dRequest'), ref('ReservedTypeRequest')] },
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
