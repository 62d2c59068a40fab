import express, { type RequestHandler } from 'express';

/**
 * Reads a JSON body. Room for the largest inline image in base64 and then some; a larger body is refused by its
 * Content-Length, or cut off where it passes the limit, and never held in memory.
 * Whatever the Content-Type says: the body is JSON or the request is refused.
 */
export const jsonBody: RequestHandler = express.json({ limit: 8 * 1024 * 1024, type: () => true, strict: false });
