import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../src/openapi.js';

type Method = 'get' | 'put' | 'post' | 'delete';
type Operations = Partial<Record<Method, { responses: Record<string, unknown> }>>;
const document = openApiDocument() as ReturnType<typeof openApiDocument> & {
  paths: Record<string, Operations>;
  webhooks: Record<string, Operations>;
};

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1 without dangling references', async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    expect(() => validator.resolveRefs()).not.toThrow();
  });

  test('lists every route of the contract with its statuses and those of the gateway', () => {
    const contract = Object.entries(document.paths).filter(([path]) => path.startsWith('/v1/'));
    const routes = contract.flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { responses }]) => [
        `${method.toUpperCase()} ${path}`,
        Object.keys(responses).filter((status) => !['403', '429', '500', '503'].includes(status)),
        Object.keys(responses).length,
      ]),
    );
    expect(routes).toEqual([
      ['POST /v1/jobs', ['202', '400', '402'], 7],
      ['GET /v1/jobs', ['200', '400'], 6],
      ['GET /v1/jobs/{id}', ['200', '400', '404'], 7],
      ['GET /v1/balance', ['200'], 5],
      ['PUT /v1/webhook-endpoint', ['200', '400'], 6],
      ['GET /v1/webhook-endpoint', ['200', '404'], 6],
      ['DELETE /v1/webhook-endpoint', ['204'], 5],
      ['POST /v1/webhook-endpoint/rotate', ['200', '404'], 6],
      ['POST /v1/webhook-endpoint/test', ['202', '409'], 6],
    ]);
    expect(Object.keys(document.webhooks)).toEqual(['task.updated', 'ping']);
  });
});
