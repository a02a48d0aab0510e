import { expect, it } from 'vitest';
import { MessageGate } from '#media/leg/message-gate.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

function gate() {
  const clock = new ManualClock();
  const dropped: number[] = [];
  return { clock, dropped, gate: new MessageGate(clock, () => dropped.push(clock.now())) };
}
const passed = (of: MessageGate, count: number, length: number) =>
  Array.from({ length: count }, () => of.passes(length)).filter(Boolean).length;

it('the gate passes a burst of 200 messages, then 20 per second', async () => {
  const { clock, dropped, gate: subject } = gate();
  expect(passed(subject, 500, 10)).toBe(200);
  await clock.advance(1_000);
  expect(passed(subject, 500, 10)).toBe(20);
  expect(dropped).toHaveLength(1);
});

it('the gate passes a burst of 640 kB, then 64 kB per second, and no message above 256 kB', async () => {
  const { clock, gate: subject } = gate();
  expect(passed(subject, 100, 1 << 16)).toBe(10);
  await clock.advance(2_000);
  expect(passed(subject, 100, 1 << 16)).toBe(2);
  await clock.advance(60_000);
  expect([subject.passes((1 << 18) + 1), subject.passes(1 << 18)]).toEqual([false, true]);
});
