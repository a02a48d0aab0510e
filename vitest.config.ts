import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These only end what hangs; a busy machine needs many times what an idle one does.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    // Most of the time goes to journeys, which wait for a good part of theirs: two at once should not fill the two cores of a small machine (docs/decisions.md).
    maxWorkers: 3,
  },
});
