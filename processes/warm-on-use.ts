/**
 * Warms something up once somebody uses the API or opens the console. A product that nobody uses does
 * without: requests for its health and metrics, and those of its own processes, do not count as use.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Clock, Timer } from '#base/clock.ts';
import { readTimeUse, wasProcessorFree, wasThreadQuiet } from '#base/quiet.ts';

const USES = /^\/(v1|console)\b/;
/** There is time before the first speech request, and other processes need the CPU until they are ready. */
const WARM_UP_AFTER_MS = 1_000;
const LOOK_MS = 1_000;
/** Whoever uses the API may be about to call, and the warm-up would share the CPU with the greeting. */
const QUIET_LOOKS = 10;

type Http = Pick<Server, 'on' | 'off'>;

/** What waits, and for what. */
export interface WarmedOnUse {
  readonly http: Http;
  readonly clock: Clock;
  readonly calls: { readonly isIdle: boolean };
  /** It is there to be used, and not perhaps only for calls, which do without. */
  readonly isUsed: boolean;
  warm(): void;
  /** Tests replace the figures of the system. */
  readonly timeUse?: typeof readTimeUse;
}

/**
 * Calls `warm` once: a second later if it is used anyway, otherwise after ten seconds that follow the first
 * use, in which there was no call, this thread had next to nothing to do, and a processor was free as far as
 * is known. Cancelled, it no longer does.
 */
export function warmOnUse({ http, isUsed, ...waited }: WarmedOnUse): Timer {
  if (isUsed) return waited.clock.after(WARM_UP_AFTER_MS, waited.warm);
  let timer: Timer | null = null;
  const firstUse = onFirstUse(http, () => {
    timer = afterQuiet(waited);
  });
  return {
    cancel: () => {
      firstUse.cancel();
      timer?.cancel();
    },
  };
}

/** A conversation over a WebSocket begins with an upgrade, not with a request. */
function onFirstUse(http: Http, callback: () => void): Timer {
  const cancel = () => {
    for (const event of ['request', 'upgrade']) http.off(event, look);
  };
  const look = ({ url = '' }: IncomingMessage) => {
    if (!USES.test(url)) return;
    cancel();
    callback();
  };
  for (const event of ['request', 'upgrade']) http.on(event, look);
  return { cancel };
}

function afterQuiet({
  clock,
  calls,
  warm,
  timeUse = readTimeUse,
}: Omit<WarmedOnUse, 'http' | 'isUsed'>): Timer {
  let [before, sinceMs] = [timeUse(), clock.now()];
  let quietLooks = 0;
  const timer = clock.every(LOOK_MS, () => {
    const [now, nowMs] = [timeUse(), clock.now()];
    const passedMs = nowMs - sinceMs;
    const isQuiet =
      calls.isIdle &&
      wasThreadQuiet(before, now, passedMs) &&
      wasProcessorFree(before, now, passedMs) !== false;
    [before, sinceMs] = [now, nowMs];
    quietLooks = isQuiet ? quietLooks + 1 : 0;
    if (quietLooks < QUIET_LOOKS) return;
    timer.cancel();
    warm();
  });
  return timer;
}
