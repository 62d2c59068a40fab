import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { messageClasses } from './message-classes.js';

test('Express finds the prototypes that it sets already there, and works with them', async () => {
  const app = express();
  const server = createServer(messageClasses(app)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');

  const kept: boolean[] = [];
  server.on('request', (...messages) => {
    const prototypes = messages.map(Object.getPrototypeOf);
    app(...messages);
    kept.push(...messages.map((message, index) => Object.getPrototypeOf(message) === prototypes[index]));
  });
  app.get('/:name', (request, response) => {
    response.status(202).json({ name: request.params.name, host: request.hostname });
  });

  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/cup`);
  expect(kept).toEqual([true, true]);
  expect(answer.status).toBe(202);
  expect(await answer.json()).toEqual({ name: 'cup', host: '127.0.0.1' });
});
