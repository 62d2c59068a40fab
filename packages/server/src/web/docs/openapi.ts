import { openApiDocument } from '@gen3d/schema/openapi';
import type { RequestHandler } from 'express';

/** The contract for machines. No key, and open to every origin: documentation viewers read it from their own pages. */
export function openApi(): RequestHandler {
  const document = JSON.stringify(openApiDocument());
  return (_request, response) => {
    response
      .set({ 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' })
      .type('json')
      .send(document);
  };
}
