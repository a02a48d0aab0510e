/**
 * Keeps the screen on while a conversation runs, where the browser can; a locked phone would take the
 * microphone away.
 */

/**
 * Holds the screen on; returns what lets it go. A page that was hidden gets it back when it is shown again.
 */
export function keepScreenOn(): () => void {
  let lock: WakeLockSentinel | null = null;
  let isOver = false;
  const take = async () => {
    if (isOver || document.visibilityState !== 'visible') return;
    try {
      // Absent on pages without https, whatever the types say.
      const taken = await (navigator.wakeLock as WakeLock | undefined)?.request('screen');
      if (isOver) await taken?.release();
      else lock = taken ?? null;
    } catch {
      // Refused, on low battery for instance: the conversation goes on without.
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
