/** Which events an endpoint receives: of every change of a job, or only of its end. Pings are always sent. */
export const webhookEvents = ['all', 'final'] as const;
export type WebhookEvents = (typeof webhookEvents)[number];
