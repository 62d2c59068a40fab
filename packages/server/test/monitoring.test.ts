// docs/operations/ beside what /metrics really gives.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { sharedServer } from './contract/kit.js';

const { server } = sharedServer();
const page = (name: string) => readFileSync(new URL(`../../../docs/operations/${name}`, import.meta.url), 'utf8');

interface Metric {
  name: string;
  type: string;
}

let given: Metric[];

beforeAll(async () => {
  const text = String((await server().call('GET', '/metrics', undefined, null)).body);
  given = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => ({ name: name!, type: type! }));
});

/** Of Node and the process, which prom-client makes. */
const isOfProcess = ({ name }: Metric) => /^gen3d_(process|nodejs)_/.test(name);

test('the table of monitoring.md has every metric of ours with its type, and no other', () => {
  const rows = [...page('monitoring.md').matchAll(/^\| `(gen3d_\w+)` \| (\w+) \|/gm)];
  const documented = rows.map(([, name, type]) => ({ name, type }));
  const ours = given.filter((metric) => !isOfProcess(metric)).map(({ name, type }) => ({ name, type }));
  expect(ours.length).toBeGreaterThan(15);
  expect(documented).toEqual(expect.arrayContaining(ours));
  expect(ours).toEqual(expect.arrayContaining(documented));
});

/** The metrics that a text names and the server does not give: a dashboard or a rule that stays empty for ever. */
function unknownIn(text: string): string[] {
  const series = new Set(
    given.flatMap(({ name, type }) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
  const named = text.match(/\bgen3d_\w+/g) ?? [];
  return named.filter((name) => !series.has(name));
}

test('the alerts ask for nothing that is not there', () => {
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

  test('asks for nothing that is not there, and takes its data source from a variable', () => {
    const drawn = dashboard.panels.filter(({ type }) => type !== 'row');
    expect(drawn.length).toBeGreaterThan(12);
    for (const { title, datasource, targets = [] } of drawn) {
      expect([title, targets.length > 0]).toEqual([title, true]);
      expect([title, ...targets.flatMap(({ expr }) => unknownIn(expr))]).toEqual([title]);
      for (const place of [datasource, ...targets.map((target) => target.datasource)])
        expect(place?.uid).toMatch(/^\$\{datasource\}$/);
    }
    expect(dashboard.templating.list.find(({ name }) => name === 'datasource')?.type).toBe('datasource');
  });

  test('is of Grafana 11, and no panel lies on another', () => {
    expect(dashboard.schemaVersion).toBe(39);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });
});
