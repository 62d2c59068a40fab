import { z } from 'zod';
import { isWellFormed, notWellFormed } from './text.js';

/** Body of `PUT /v1/webhook-endpoint`. */
export const PutWebhookEndpointRequest = z.object({
  url: z
    .string()
    .max(2048)
    .refine(isWellFormed, notWellFormed)
    .refine((url) => URL.canParse(url) && new URL(url).protocol === 'https:', 'must be an https URL'),
});
export type PutWebhookEndpointRequest = z.infer<typeof PutWebhookEndpointRequest>;

/** `secret` is present when the endpoint is first configured, and absent when a later PUT changes the URL. */
export const PutWebhookEndpointResponse = z.object({ url: z.string(), secret: z.string().optional() });
export type PutWebhookEndpointResponse = z.infer<typeof PutWebhookEndpointResponse>;

export const WebhookEndpoint = z.object({ url: z.string(), secret: z.string() });
export type WebhookEndpoint = z.infer<typeof WebhookEndpoint>;

export const RotateSecretResponse = z.object({ secret: z.string() });
export type RotateSecretResponse = z.infer<typeof RotateSecretResponse>;

export const TestWebhookResponse = z.object({ queued: z.literal(true) });
export type TestWebhookResponse = z.infer<typeof TestWebhookResponse>;
