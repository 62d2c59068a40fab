import { openApiDocument } from '@gen3d/schema/openapi';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ApiResponse } from '../kit.js';

interface Response {
  $ref?: string;
  content?: unknown;
}
const document = openApiDocument() as ReturnType<typeof openApiDocument> & {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
};

const ajv = new Ajv2020({
  strict: false, // the document contains more than schemas
  allErrors: true,
  formats: { uri: (text) => URL.canParse(text), 'date-time': (text) => new Date(text).toISOString() === text },
});
ajv.addSchema(document, 'openapi.json');

const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');
const routes = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/**
 * How a response violates the OpenAPI document: an undocumented status, or a body of another shape. Undefined if it does
 * not, and for routes that the document does not have.
 */
export function undocumented(method: string, target: string, { status, body }: ApiResponse): string | undefined {
  const pathname = target.split('?', 1)[0] ?? '';
  const route = routes.find(({ pattern }) => pattern.test(pathname));
  const operation = route && document.paths[route.path]?.[method.toLowerCase()];
  if (!route || !operation) return undefined;
  const response = operation.responses[status];
  if (!response) return `${method} ${route.path} returned an undocumented ${status}`;
  const at = response.$ref?.slice(1) ?? `/paths/${escaped(route.path)}/${method.toLowerCase()}/responses/${status}`;
  const content = response.$ref ? true : response.content;
  if (!content) return body === '' ? undefined : `${method} ${route.path} returned ${status} with a body`;
  const validate = ajv.compile({ $ref: `openapi.json#${at}/content/application~1json/schema` });
  if (validate(body)) return undefined;
  return `${method} ${route.path} returned ${status} with ${JSON.stringify(body)}: ${ajv.errorsText(validate.errors)}`;
}
