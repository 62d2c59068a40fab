import { expect, test } from 'vitest';
import { settings } from './config.js';
import { unknownVariables } from './unknown-variables.js';

test('a misspelt variable is named, with the one that was meant', () => {
  expect(unknownVariables({ GEN3D_ASETS: 's3://models', GEN3D_DATABASE_URL: 'postgres://db/gen3d' })).toEqual([
    'GEN3D_ASETS is no setting and is ignored: did you mean GEN3D_ASSETS?',
    'GEN3D_DATABASE_URL is no setting and is ignored: did you mean GEN3D_DATABASE?',
  ]);
  expect(unknownVariables({ GEN3D_QUANTUM_FLUX: '1' })).toEqual([
    'GEN3D_QUANTUM_FLUX is no setting and is ignored; see docs/configuration.md',
  ]);
});

test('no variable that something reads is complained about, nor what Kubernetes sets', () => {
  const read = ['API_KEY', 'BASE_URL', 'CONFIG', 'CONFIG_DIR', 'PREVIEW', 'TEST_SEED', 'WEBHOOK_SECRET'];
  const kubernetes = ['SERVICE_HOST', 'SERVICE_PORT_HTTP', 'API_PORT', 'API_PORT_8787_TCP_ADDR'];
  const names = [
    ...settings.map(({ variable }) => variable),
    ...[...read, ...kubernetes].map((name) => `GEN3D_${name}`),
  ];
  expect(unknownVariables(Object.fromEntries(['PATH', ...names].map((name) => [name, '1'])))).toEqual([]);
});
