import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These only end what hangs; a busy machine needs many times what an idle one does.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    // Most of the time goes to journeys. One uses 0.3 to 0.6 of a core, as it waits for speech and timers:
    // two at once leave part of two cores idle.
    maxWorkers: 3,
  },
});
