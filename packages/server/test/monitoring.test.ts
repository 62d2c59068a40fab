// Compares docs/operations/ with the metrics of a server.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
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

/** Metrics that a text names and the server does not have, so that a panel or a rule would stay empty. */
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

describe('the Grafana dashboard', () => {
  interface Panel {
    id: number;
    type: string;
    title: string;
    gridPos: { x: number; y: number; w: number; h: number };
    datasource?: { uid: string };
    targets?: { expr: string; datasource: { uid: string } }[];
  }
  const dashboard = JSON.parse(page('grafana-dashboard.json')) as {
    schemaVersion: number;
    panels: Panel[];
    templating: { list: { name: string; type: string }[] };
  };

  test('uses only existing metrics, and a variable as its data source', () => {
    const panels = dashboard.panels.filter(({ type }) => type !== 'row');
    expect(panels.length).toBeGreaterThan(12);
    for (const { title, datasource, targets = [] } of panels) {
      expect([title, targets.length > 0]).toEqual([title, true]);
      expect([title, ...targets.flatMap(({ expr }) => unknownIn(expr))]).toEqual([title]);
      for (const source of [datasource, ...targets.map((target) => target.datasource)])
        expect(source?.uid).toMatch(/^\$\{datasource\}$/);
    }
    expect(dashboard.templating.list.find(({ name }) => name === 'datasource')?.type).toBe('datasource');
  });

  test('has the schema of Grafana 11 and no overlapping panels', () => {
    expect(dashboard.schemaVersion).toBe(39);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });
});
