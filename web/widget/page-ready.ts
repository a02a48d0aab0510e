/** Determines when the embedding page has finished its own work, because the widget must not slow it down. */

/** Maximum wait for the page to load: some pages never finish. */
const LOAD_PATIENCE_MS = 5_000;
/** Maximum wait for a loaded page to become idle. */
const IDLE_PATIENCE_MS = 500;

/** Calls `then` once the page is loaded and idle. */
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
  // Safari has no `requestIdleCallback`; a timer runs after the load event.
  else setTimeout(then, 0);
}
