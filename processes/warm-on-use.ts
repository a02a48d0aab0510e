/**
 * Warms something up once somebody uses the API or opens the console. A product that nobody uses does
 * without: requests for its health and metrics, and those of its own processes, do not count as use.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Clock, Timer } from '#base/clock.ts';

const USES = /^\/(v1|console)\b/;
/** So that neither a start nor the request that is the first use shares the CPU with it. */
export const WARM_UP_AFTER_MS = 1_000;

/** Calls `warm` once, shortly after the first use; cancelled, it no longer does. */
export function warmOnUse(http: Pick<Server, 'on' | 'off'>, clock: Clock, warm: () => void): Timer {
  let timer: Timer | null = null;
  const look = ({ url = '' }: IncomingMessage) => {
    if (!USES.test(url)) return;
    http.off('request', look);
    timer = clock.after(WARM_UP_AFTER_MS, warm);
  };
  http.on('request', look);
  return {
    cancel: () => {
      http.off('request', look);
      timer?.cancel();
    },
  };
}
