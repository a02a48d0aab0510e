import { expect, it, onTestFinished } from 'vitest';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { startTestSignalling } from '#test/fakes/signalling.ts';
import { openRawCaller } from './raw-caller.ts';

it('the embedded signalling is not idle while an INVITE is being admitted or refused', async () => {
  const clock = new ManualClock();
  const admission = Promise.withResolvers<never>();
  const server = await startTestSignalling({ clock, admit: () => admission.promise });
  onTestFinished(() => server.close());
  const caller = await openRawCaller(server.sipPort);
  onTestFinished(() => caller.close());
  expect(server.isIdle()).toBe(true);
  caller.request({});
  await expect.poll(() => server.isIdle()).toBe(false);
  expect(server.metrics().dialogs).toBe(0);
  admission.reject(new Error('the control plane cannot be reached'));
  await caller.response(503);
  expect(server.isIdle()).toBe(false);
  caller.request({ method: 'ACK', branch: `z9hG4bK-${caller.port}-1` });
  // The ACK, or the end of its wait, and then of retransmissions.
  await clock.advance(60_000);
  expect(server.isIdle()).toBe(true);
});
