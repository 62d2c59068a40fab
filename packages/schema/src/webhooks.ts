/** An endpoint receives events about every change of a job, or only about its end. It always receives pings. */
export const webhookEvents = ['all', 'final'] as const;
export type WebhookEvents = (typeof webhookEvents)[number];

/**
 * Says how long a webhook endpoint has been failing. Empty if its last delivery succeeded. Response headers of `GET
 * /v1/webhook-endpoint` contain it, because the body has no field for it (docs/contract.md section 6.4).
 */
export interface EndpointHealth {
  /** Every delivery since then has failed: an ISO 8601 time. */
  readonly failing_since?: string | undefined;
  /** No delivery is made before then: an ISO 8601 time. */
  readonly paused_until?: string | undefined;
}

const failingSinceHeader = 'x-gen3d-failing-since';
const pausedUntilHeader = 'x-gen3d-paused-until';

export const endpointHealthHeaders = ({ failing_since, paused_until }: EndpointHealth): Record<string, string> => ({
  ...(failing_since !== undefined && { [failingSinceHeader]: failing_since }),
  ...(paused_until !== undefined && { [pausedUntilHeader]: paused_until }),
});

export function readEndpointHealth(headers: { get(name: string): string | null }): EndpointHealth {
  const failing_since = headers.get(failingSinceHeader);
  const paused_until = headers.get(pausedUntilHeader);
  return { ...(failing_since !== null && { failing_since }), ...(paused_until !== null && { paused_until }) };
}

/** Describes what is wrong with an endpoint and what to do. Undefined if nothing is. `time` formats an ISO time. */
export function describeHealth(
  { failing_since, paused_until }: EndpointHealth,
  time: (iso: string) => string,
): string | undefined {
  if (failing_since === undefined) return undefined;
  const failing = `every delivery since ${time(failing_since)} has failed`;
  return paused_until === undefined
    ? `Deliveries are retried: ${failing}. Check the receiver`
    : `Deliveries are paused until ${time(paused_until)}: ${failing}. Repair the receiver, then send a ping, which ends the pause`;
}
