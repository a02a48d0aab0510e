import { beforeAll, describe, expect, it } from 'vitest';
import { judgedShare, recommend, resultOf } from '#runtime/replay/tuning.ts';
import { firstDivergence, judgePauses } from '#runtime/replay/what-if.ts';
import { type ReadFlightLog, readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import type { TurnInput } from '#runtime/turn/machine/turn-inputs.ts';
import { simulateCall } from '../../simulation/simulate-call.ts';
import { TurnScript } from '../turn/turn-script.ts';

/** The log of a call that a test drives manually. */
function logOf(lead: (script: TurnScript) => void, changes: Partial<TurnConfig> = {}): ReadFlightLog {
  const inputs: TurnInput[] = [];
  const script = new TurnScript(changes, (input) => inputs.push(input));
  const { config } = script.state;
  script.take({ type: 'call.started' }, { type: 'call.connected' });
  lead(script);
  return { header: { config } as ReadFlightLog['header'], inputs };
}

/** Two sentences with `pauseMs` between them; the first could be the whole turn. */
const hesitant = (pauseMs: number) =>
  logOf((script) => {
    script.after(1_000).voice(800).take({ type: 'transcript.final', text: 'I would like a table' });
    script.after(pauseMs).voice(600).take({ type: 'transcript.final', text: 'for two people.' });
    script.after(3_000).answer('Certainly.');
    script.after(2_000);
  });

describe('another setting', () => {
  it('is reported with its first noticeable change and the call’s share before it if it answers sooner', () => {
    const log = logOf((script) => {
      script.after(1_000).say('book a table please.').answer('For how many?');
      script.after(6_000);
    });
    const divergence = firstDivergence(log, { responseWaitMs: 300 });
    expect(divergence).toMatchObject({
      was: { did: { do: 'generate' } },
      wouldBe: { atMs: 1_900, did: { do: 'generate' } },
    });
    expect(divergence?.judged).toBeGreaterThan(0.15);
    expect(divergence?.judged).toBeLessThan(0.4);
  });

  it('changes nothing if it does not affect the call', () => {
    expect(firstDivergence(hesitant(400), { hangupAfterMs: 90_000 })).toBeNull();
  });

  it('never diverges if it equals the settings of the call', async () => {
    for (let seed = 1; seed <= 25; seed++)
      expect(
        firstDivergence(readFlightLog((await simulateCall(seed)).flightLog)[0], {}),
        `npm run simulate -- --seed ${seed}`,
      ).toBeNull();
  });
});

describe('tuning', () => {
  let calls: ReadFlightLog[];
  beforeAll(() => {
    calls = [hesitant(450), hesitant(450), hesitant(470)];
  });
  const judged = (changes: Partial<TurnConfig>) => calls.map((log) => judgePauses(log, changes));

  it('counts the callers a shorter wait would have interrupted, and the time it would have saved', () => {
    const quick = resultOf('quick', judged({ responseWaitMs: 250, responseMaxWaitMs: 250 }));
    const own = resultOf('own', judged({}));
    expect([own.cutOffs, own.savedMs]).toEqual([0, 0]);
    expect(quick.cutOffs).toBe(0.5);
    expect(quick.savedMs).toBeGreaterThan(200);
    expect(judgedShare(judged({}))).toBe(1);
  });

  it('recommends the fastest setting that interrupts no caller', () => {
    const rows = [
      { name: 'own', cutOffs: 0, savedMs: 0 },
      { name: 'quick', cutOffs: 0.5, savedMs: 300 },
      { name: 'fair', cutOffs: 0.01, savedMs: 120 },
    ];
    expect(recommend(rows)?.name).toBe('fair');
    expect(recommend([])).toBeNull();
  });
});
