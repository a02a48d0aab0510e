import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These only end what hangs; a busy machine needs many times what an idle one does.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    // Three quarters of the time goes to journeys, which wait more than they compute, about half a core each: three fill the two cores of a small machine.
    maxWorkers: 3,
  },
});
