/** The extension behind a person's number, dialled by a transfer. */
import { describe, expect, it } from 'vitest';
import { ExtensionPress } from '#runtime/calls/extension-press.ts';
import { SimulatedClock } from '#test/simulation/simulated-clock.ts';
import { createSpokenWords, SimulatedLeg } from '#test/simulation/simulated-leg.ts';

/** Dials an extension that takes four seconds and a bit. */
function dial() {
  const clock = new SimulatedClock();
  const fromMs = clock.now();
  const leg = new SimulatedLeg({ clock, words: createSpokenWords(), latencyMs: 1 });
  const abort = new AbortController();
  const press = new ExtensionPress({ clock, leg, signal: abort.signal }, ',,20#');
  leg.listen((events) => {
    for (const event of events) press.onLegEvent(event);
  });
  let overMs: number | null = null;
  void press.over.then(() => {
    overMs = clock.now() - fromMs;
  });
  const run = async () => {
    await clock.run(() => overMs !== null, 60_000);
    return overMs;
  };
  return { abort, clock, leg, run };
}

describe('an extension', () => {
  it('is over when its last key has been sent', async () => {
    const { leg, run } = dial();
    expect(await run()).toBe(4_602);
    expect(leg.pressed.map(({ keys }) => keys)).toEqual([',,20#']);
  });

  it('is over at once when the caller has left: nobody waits for it any more', async () => {
    const { abort, clock, run } = dial();
    clock.after(1_000, () => abort.abort());
    expect(await run()).toBe(1_000);
  });

  it('is over when the person hangs up', async () => {
    const { clock, leg, run } = dial();
    clock.after(1_000, () => leg.close('remote'));
    expect(await run()).toBe(1_001);
  });

  it('of a leg that sends no keys is given up after the time that they take, and three seconds', async () => {
    const { leg, run } = dial();
    leg.abandon();
    expect(await run()).toBe(10_000);
  });
});
