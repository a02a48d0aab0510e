import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These only end what hangs; a busy machine needs many times what an idle one does.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    // Calls are real time: more files at once than cores would only make each of them late.
    maxWorkers: 2,
  },
});
