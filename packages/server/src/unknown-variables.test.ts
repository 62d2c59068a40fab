import { expect, test } from 'vitest';
import { settings } from './config.js';
import { unknownVariables } from './unknown-variables.js';

test('a misspelled variable is named, with the similar one that exists', () => {
  expect(unknownVariables({ GEN3D_ASETS: 's3://models', GEN3D_DATABASE_URL: 'postgres://db/gen3d' })).toEqual([
    'GEN3D_ASETS is not a setting and is ignored. Did you mean GEN3D_ASSETS?',
    'GEN3D_DATABASE_URL is not a setting and is ignored. Did you mean GEN3D_DATABASE?',
  ]);
  expect(unknownVariables({ GEN3D_QUANTUM_FLUX: '1' })).toEqual([
    'GEN3D_QUANTUM_FLUX is not a setting and is ignored. See docs/configuration.md',
  ]);
});

test('known variables and those of Kubernetes cause no warning', () => {
  const others = ['API_KEY', 'BASE_URL', 'CONFIG', 'CONFIG_DIR', 'WEBHOOK_SECRET'];
  const kubernetes = ['SERVICE_HOST', 'SERVICE_PORT_HTTP', 'API_PORT', 'API_PORT_8787_TCP_ADDR'];
  const names = [
    ...settings.map(({ variable }) => variable),
    ...[...others, ...kubernetes].map((name) => `GEN3D_${name}`),
  ];
  expect(unknownVariables(Object.fromEntries(['PATH', ...names].map((name) => [name, '1'])))).toEqual([]);
});
