// Compares docs/operations/ with the metrics of a server.
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { sharedServer } from './contract/kit.js';

const { server } = sharedServer();
const page = (name: string) => readFileSync(new URL(`../../../docs/operations/${name}`, import.meta.url), 'utf8');

interface Metric {
  name: string;
  type: string;
}

let metrics: Metric[];

beforeAll(async () => {
  const text = String((await server().call('GET', '/metrics', undefined, null)).body);
  metrics = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => ({ name: name!, type: type! }));
});

/** Whether prom-client defines the metric. */
const isDefaultMetric = ({ name }: Metric) => /^gen3d_(process|nodejs)_/.test(name);

test('the table in monitoring.md lists exactly our metrics, with their types', () => {
  const rows = [...page('monitoring.md').matchAll(/^\| `(gen3d_\w+)` \| (\w+) \|/gm)];
  const documented = rows.map(([, name, type]) => ({ name, type }));
  const ours = metrics.filter((metric) => !isDefaultMetric(metric)).map(({ name, type }) => ({ name, type }));
  expect(ours.length).toBeGreaterThan(15);
  expect(documented).toEqual(expect.arrayContaining(ours));
  expect(ours).toEqual(expect.arrayContaining(documented));
});

/** Metrics that a text names and the server does not have, so that a rule would never fire. */
function unknownIn(text: string): string[] {
  const series = new Set(
    metrics.flatMap(({ name, type }) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
  const named = text.match(/\bgen3d_\w+/g) ?? [];
  return named.filter((name) => !series.has(name));
}

test('the alerts use only existing metrics', () => {
  const rules = page('alerts.yaml');
  expect(rules.match(/- alert: /g)!.length).toBeGreaterThan(8);
  expect(unknownIn(rules)).toEqual([]);
  expect(unknownIn('rate(gen3d_queue_wait_seconds[5m]) + gen3d_nothing')).toEqual([
    'gen3d_queue_wait_seconds',
    'gen3d_nothing',
  ]);
});
