/**
 * When the page the widget stands on is done with its own work: what somebody puts on their page must not
 * make it slower.
 */

/** How long a page may take to load before it is not waited for any longer: some never finish. */
const LOAD_PATIENCE_MS = 5_000;
/** How long a loaded page may be busy. */
const IDLE_PATIENCE_MS = 500;

/** Calls `then` once, when the page has loaded and has a moment. */
export function whenPageIsReady(then: () => void): void {
  if (document.readyState === 'complete') {
    whenIdle(then);
    return;
  }
  let hasWaited = false;
  const goOn = () => {
    if (hasWaited) return;
    hasWaited = true;
    whenIdle(then);
  };
  addEventListener('load', goOn, { once: true });
  setTimeout(goOn, LOAD_PATIENCE_MS);
}

function whenIdle(then: () => void): void {
  if ('requestIdleCallback' in window) requestIdleCallback(then, { timeout: IDLE_PATIENCE_MS });
  // Safari has none; there a timer runs after the load event itself.
  else setTimeout(then, 0);
}
