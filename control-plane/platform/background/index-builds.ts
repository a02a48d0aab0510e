/** Builds the indexes that the store can do without beside the running traffic. */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { buildIndexes } from '../store/build-indexes.ts';
import type { Models } from '../store/models.ts';
import { type BackgroundLoop, createBackgroundLoop } from './background-loop.ts';

const RETRY_MS = 60_000;

/**
 * Starts it. An error is logged, and the build tried again a minute later. Closing waits for no build:
 * MongoDB goes on with it.
 */
export function startIndexBuilds({
  models,
  clock,
  logger,
}: {
  readonly models: Models;
  readonly clock: Clock;
  readonly logger: Logger;
}): BackgroundLoop {
  let isOver = false;
  const loop = createBackgroundLoop('indexes', logger, async () => {
    if (isOver) return;
    const startMs = clock.now();
    try {
      await buildIndexes(models, 'others');
    } catch (error) {
      if (isOver) return;
      throw error;
    }
    logger.info({ tookMs: clock.now() - startMs }, 'all indexes are built');
    isOver = true;
    retry.cancel();
  });
  const retry = clock.every(RETRY_MS, loop.kick);
  loop.kick();
  return {
    ...loop,
    async close() {
      isOver = true;
      retry.cancel();
    },
  };
}
