import {
  Balance,
  ErrorBody,
  limits,
  PingEvent,
  publicTestKey,
  Task,
  TaskUpdatedEvent,
} from '../../packages/schema/src/index.js';
import { openApiDocument } from '../../packages/schema/src/openapi.js';
import { code, page, table } from './markdown.js';

/** The parts of OpenAPI 3.1 that our document uses. */
interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  not?: Schema;
  format?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  default?: unknown;
  items?: Schema;
  additionalProperties?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}
interface Response {
  $ref?: string;
  description?: string;
  content?: Record<string, { schema: Schema }>;
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}
interface Operation {
  tags: string[];
  summary: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, Response>;
}
interface Document {
  info: { description: string };
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> };
}

const job = '01JZ8Q4N7T0G5X2M9K3B6W1CVE';

const input = { image_urls: ['https://example.com/mug.jpg'] };
const views = { left: 'https://example.com/mug-left.jpg', back: 'https://example.com/mug-back.jpg' };

/** Bodies of requests whose fields `api.md` shows in an example each. */
const bodies: Readonly<Record<string, readonly object[]>> = {
  'POST /v1/jobs': [
    { type: 'image-to-3d', input },
    { type: 'image-to-3d', input: { ...input, views } },
  ],
  'PUT /v1/webhook-endpoint': [{ url: 'https://example.com/gen3d' }],
};

const finished = {
  type: 'image-to-3d',
  status: 'SUCCEEDED',
  progress: 100,
  model_urls: { glb: `http://127.0.0.1:8787/assets/${job}/5Zk2/model.glb` },
  thumbnail_url: `http://127.0.0.1:8787/assets/${job}/5Zk2/thumbnail.jpg`,
} as const;
const delivery = {
  event_id: '01JZ8Q4T3D8R6H1N0V7P5S2YKA',
  user_id: '01JZ8PZ0W4B2E7C9F1G3H5J8KM',
  timestamp: '2026-01-31T12:00:07.214Z',
};
/** Examples of some objects. Each is checked by its schema. */
const examples: Readonly<Record<string, object>> = {
  Task: Task.parse({
    task_id: job,
    ...finished,
    error: null,
    created_at: '2026-01-31T12:00:00.000Z',
    finished_at: '2026-01-31T12:00:07.214Z',
  }),
  Balance: Balance.parse({ balance_usd: 9.87, min_balance_usd: limits.minBalanceUsd, rates: { cpu: 0 } }),
  ErrorBody: ErrorBody.parse({ error: { code: 'not_found', message: 'No such job' } }),
  TaskUpdatedEvent: TaskUpdatedEvent.parse({ event: 'task.updated', ...delivery, task_id: job, ...finished }),
  PingEvent: PingEvent.parse({ event: 'ping', ...delivery }),
};

/** docs/api.md, and the page at /docs of a server: the OpenAPI document for people. */
export function apiPage(): string {
  const document = openApiDocument() as unknown as Document;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, operation })),
  );
  const responses = Object.values(document.components.responses);
  const statuses = Object.entries(operations[0]?.operation.responses ?? {}).filter(([, response]) => response.$ref);
  return page('packages/schema/src/openapi.ts', [
    '# HTTP API',
    document.info.description,
    'Requests and responses are JSON: send `Content-Type: application/json` with every body. Ids are ULIDs, times are ISO 8601 in UTC. Every request carries the API key as `Authorization: Bearer KEY` (recommended) or `x-api-key: KEY`. Ignore fields that you do not know.',
    'The exact rules are in [contract.md](contract.md). `/openapi.json` of any server ([openapi.json](openapi.json)) is the machine-readable form of this page. [errors.md](errors.md) says what to do about each error, and [webhooks.md](webhooks.md) how to receive events.',
    `A typical client creates a job, polls it every ${limits.pollMs.min / 1_000} to ${limits.pollMs.max / 1_000} seconds until its \`status\` is \`SUCCEEDED\`, \`FAILED\` or \`CANCELED\`, and downloads \`model_urls.glb\`. You can try the API without an account, unless the server's test key is turned off:`,
    `\`\`\`sh\ncurl http://127.0.0.1:8787/v1/balance -H 'Authorization: Bearer ${publicTestKey}'\n\`\`\``,
    table(
      ['Route', 'Description'],
      operations.map(({ route, operation }) => [`[${route}](#${anchor(route)})`, operation.summary]),
    ),
    ...operations.flatMap(({ route, operation }) => operationSection(route, operation)),
    '## Responses of every route',
    table(
      ['Status', 'Body', 'Meaning'],
      statuses.map(([status], index) => [status, bodyOf(responses[index]), responses[index]?.description ?? '']),
    ),
    '## Events',
    'The server posts these to the account’s webhook endpoint.',
    ...Object.entries(document.webhooks).flatMap(([name, { post }]) => eventSection(name, post)),
    '## Objects',
    ...Object.entries(document.components.schemas)
      .filter(([, schema]) => schema.properties)
      .flatMap(([name, schema]) => [`### ${name}`, schema.description ?? '', fieldTable(schema), exampleOf(name)]),
  ]);
}

function operationSection(route: string, operation: Operation): string[] {
  const body = operation.requestBody?.content['application/json']?.schema;
  const responses = Object.entries(operation.responses).filter(([, response]) => !response.$ref);
  return [
    `## ${route}`,
    `${operation.summary}. ${operation.description ?? ''}`.trim(),
    operation.parameters ? parameterTable(operation.parameters) : '',
    body ? `Body: ${typeOf(body)}` : '',
    ...(bodies[route] ?? [undefined]).map((body) => curl(route, body)),
    table(
      ['Status', 'Body', 'Meaning'],
      responses.map(([status, response]) => [status, bodyOf(response), response.description ?? '']),
    ),
  ];
}

function eventSection(name: string, operation: Operation): string[] {
  const body = operation.requestBody?.content['application/json']?.schema;
  return [
    `### ${name}`,
    `${operation.summary}. ${operation.description ?? ''}`.trim(),
    parameterTable(operation.parameters ?? []),
    body ? `Body: ${typeOf(body)}` : '',
  ];
}

function curl(route: string, body: object | undefined): string {
  const [method = '', path = ''] = route.split(' ');
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}http://127.0.0.1:8787${path.replace('{id}', '$JOB_ID')} -H "Authorization: Bearer $GEN3D_API_KEY"`,
    ...(body ? [`  -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`] : []),
  ];
  return `\`\`\`sh\n${lines.join(' \\\n')}\n\`\`\``;
}

const parameterTable = (parameters: readonly Parameter[]) =>
  table(
    ['Parameter', 'Where', 'Type', 'Meaning'],
    parameters.map((one) => [
      `${code(one.name)}${one.required ? '' : ' (optional)'}`,
      one.in,
      typeOf(one.schema),
      one.description ?? '',
    ]),
  );

const fieldTable = (schema: Schema) =>
  table(
    ['Field', 'Type', 'Meaning'],
    Object.entries(schema.properties ?? {}).map(([name, property]) => [
      `${code(name)}${schema.required?.includes(name) ? '' : ' (optional)'}`,
      typeOf(property),
      meaningOf(property),
    ]),
  );

function exampleOf(name: string): string {
  const example = examples[name];
  return example ? `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\`` : '';
}

const nameOf = ({ $ref = '' }: { $ref?: string }) => $ref.split('/').at(-1) ?? '';

const schemaOf = (name: string) => (openApiDocument() as unknown as Document).components.schemas[name];

function meaningOf(schema: Schema): string {
  const referred = schema.$ref ? schemaOf(nameOf(schema)) : undefined;
  // An object is explained where it is described.
  return schema.description ?? (referred?.properties ? '' : (referred?.description ?? ''));
}

/** A schema in a few words; objects that have a name are links to their fields. */
function typeOf(schema: Schema): string {
  if (schema.$ref) return namedType(nameOf(schema));
  if (schema.oneOf) return schema.oneOf.map(typeOf).join(' or ');
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.not?.const !== undefined) return `string other than ${code(JSON.stringify(schema.not.const))}`;
  if (schema.enum) return schema.enum.map((value) => code(JSON.stringify(value))).join(', ');
  if (schema.type === 'array') {
    const { minItems, maxItems } = schema;
    return `list of ${minItems === maxItems && minItems === 1 ? 'exactly one ' : ''}${typeOf(schema.items ?? {})}`;
  }
  if (schema.additionalProperties?.type) return `object of ${schema.additionalProperties.type}s by name`;
  if (schema.properties) return `object: ${Object.keys(schema.properties).map(code).join(', ')}`;
  if (schema.format === 'uri') return 'string (URL)';
  return `${schema.type ?? 'anything'}${range(schema)}`;
}

function namedType(name: string): string {
  const schema = schemaOf(name);
  if (schema?.properties) return `[${name}](#${anchor(name)})`;
  if (name === 'Ulid') return 'string (ULID)';
  if (name === 'Timestamp') return 'string (ISO 8601)';
  if (name === 'ImageUrl') return 'string';
  return schema ? typeOf(schema) : name;
}

function range({ minimum, maximum, minLength, maxLength, default: byDefault }: Schema): string {
  const words = [
    minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}` : '',
    minLength !== undefined && maxLength !== undefined ? `${minLength} to ${maxLength} characters` : '',
    byDefault === undefined ? '' : `default ${String(byDefault)}`,
  ].filter(Boolean);
  return words.length > 0 ? ` (${words.join(', ')})` : '';
}

/** The body of a response, and for a refusal the codes that it may carry. */
function bodyOf(response: Response | undefined): string {
  const schema = response?.content?.['application/json']?.schema;
  return schema ? refinedType(schema) : 'none';
}

function refinedType(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(refinedType).join(' or ');
  const [base, narrowed] = schema.allOf ?? [schema];
  const type = base ? typeOf(base) : '';
  const error = narrowed?.properties?.error?.properties?.code;
  const message = narrowed?.properties?.message;
  if (error) return `${type}: ${typeOf(error)}`;
  return message ? `${type}: ${typeOf(message)}` : type;
}

/** As GitHub and /docs make it of a heading. */
const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
