/** A process that cannot load a library says so; a module that throws stands for a broken library. */
import { expect, it, vi } from 'vitest';
import { LegsHost } from '#media/thread/legs-host.ts';
import type { FromMediaThread } from '#media/thread/thread-messages.ts';

vi.mock('@livekit/rtc-node', () => {
  throw new Error('cannot open shared object file');
});

it.each([
  [['livekit'] as const, false],
  [[] as const, true],
])('a process that is to load %j reports whether it could: %s', async (transports, isComplete) => {
  const posted: FromMediaThread[] = [];
  const host = new LegsHost((message) => void posted.push(message));
  host.receive({ type: 'warmUp', transports });
  await expect.poll(() => posted, { timeout: 10_000 }).toContainEqual({ type: 'warm', isComplete });
  host.receive({ type: 'stop' });
  await expect.poll(() => posted, { timeout: 10_000 }).toContainEqual({ type: 'stopped' });
});
