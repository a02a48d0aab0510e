import { expect, it } from 'vitest';
import { LegsHost } from '#media/thread/legs-host.ts';
import type { FromMediaThread } from '#media/thread/thread-messages.ts';

it.each([
  ['refused', { rtpPortMin: 0, rtpPortMax: 0 }],
  ['opened', { rtpPortMin: 21_298, rtpPortMax: 21_299 }],
] as const)('the media thread is not idle from the moment a leg is to be opened: %s', async (type, ports) => {
  const posted: FromMediaThread[] = [];
  const host = new LegsHost((message) => void posted.push(message));
  host.receive({ type: 'start', settings: { ...ports, publicIp: null, iceServers: [] } });
  expect(host.isIdle).toBe(true);
  const options = { localAddress: '127.0.0.1', remote: null, recording: null };
  host.receive({ type: 'openRtp', leg: 1, options });
  expect(host.isIdle).toBe(false);
  await expect.poll(() => posted.map((message) => message.type)).toContain(type);
  expect(host.isIdle).toBe(type === 'refused');
  host.receive({ type: 'stop' });
  await expect.poll(() => posted).toContainEqual({ type: 'stopped' });
  expect(host.isIdle).toBe(true);
});
