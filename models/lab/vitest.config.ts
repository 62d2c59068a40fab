import { defineConfig } from 'vitest/config';

// Without this file, Vitest would find the configuration of the product's tests in the root.
export default defineConfig({ test: { testTimeout: 120_000 } });
