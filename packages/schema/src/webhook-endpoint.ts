import * as z from 'zod/mini';
import { isStorable, notStorable } from './text.js';
import { webhookEvents } from './webhooks.js';

/** Body of `PUT /v1/webhook-endpoint`. */
export const PutWebhookEndpointRequest = z.object({
  url: z.string().check(
    z.maxLength(2048),
    z.refine(isStorable, notStorable),
    z.refine((url) => URL.canParse(url) && new URL(url).protocol === 'https:', 'must be an https URL'),
    z.meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]:', examples: ['https://example.com/gen3d'] }),
  ),
  events: z
    .optional(z.enum(webhookEvents))
    .check(
      z.describe(
        '`final`: only events of jobs that have ended. `all`: of every change. Without this field, the choice stays; at first, it is `all`.',
      ),
    ),
});
export type PutWebhookEndpointRequest = z.infer<typeof PutWebhookEndpointRequest>;

const events = z.optional(z.literal('final')).check(z.describe('Absent if the endpoint receives all events.'));

export const PutWebhookEndpointResponse = z.object({
  url: z.string(),
  secret: z.optional(z.string()).check(z.describe('Present only when an endpoint is first configured.')),
  events,
});
export type PutWebhookEndpointResponse = z.infer<typeof PutWebhookEndpointResponse>;

export const WebhookEndpoint = z.object({ url: z.string(), secret: z.string(), events });
export type WebhookEndpoint = z.infer<typeof WebhookEndpoint>;

export const RotateSecretResponse = z.object({ secret: z.string() });
export type RotateSecretResponse = z.infer<typeof RotateSecretResponse>;

export const TestWebhookResponse = z.object({ queued: z.literal(true) });
export type TestWebhookResponse = z.infer<typeof TestWebhookResponse>;
