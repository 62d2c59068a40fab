import type { RequestHandler } from 'express';
import { HttpError } from './errors.js';

/** 405 for every method that a path does not have. */
export function onlyMethods(...methods: readonly string[]): RequestHandler {
  const allow = methods.join(', ');
  return (request) => {
    throw new HttpError(405, 'invalid_request', `${request.method} is not allowed here; use ${allow}`, { allow });
  };
}
