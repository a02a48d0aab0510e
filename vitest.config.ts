import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Calls are real time: more files at once than cores would only make each of them late.
    maxWorkers: 2,
  },
});
