/**
 * Keeps the screen on during a conversation if the browser supports it: a phone that locks would take the
 * microphone away.
 */

/**
 * Keeps the screen on; returns a function that releases the lock. A page that was hidden acquires the lock
 * again when it becomes visible.
 */
export function keepScreenOn(): () => void {
  let lock: WakeLockSentinel | null = null;
  let isOver = false;
  const take = async () => {
    if (isOver || document.visibilityState !== 'visible') return;
    try {
      // Undefined on pages without https, despite its type.
      const taken = await (navigator.wakeLock as WakeLock | undefined)?.request('screen');
      if (isOver) await taken?.release();
      else lock = taken ?? null;
    } catch {
      // The request may be refused, for instance on low battery: the conversation continues without the lock.
    }
  };
  const onVisible = () => void take();
  document.addEventListener('visibilitychange', onVisible);
  onVisible();
  return () => {
    isOver = true;
    document.removeEventListener('visibilitychange', onVisible);
    void lock?.release();
  };
}
