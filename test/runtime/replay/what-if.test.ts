import { describe, expect, it } from 'vitest';
import { addTallies } from '#protocol/tuning.ts';
import { CURRENT_MACHINE } from '#runtime/replay/machines/turn-machine.ts';
import { ReplayThread } from '#runtime/replay/replay-request.ts';
import { tallyLogs, tallyPart } from '#runtime/replay/tuning.ts';
import { firstDivergence } from '#runtime/replay/what-if.ts';
import type { ReadFlightLog } from '#runtime/turn/loop/flight-log.ts';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import type { TurnInput } from '#runtime/turn/machine/turn-inputs.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { TurnScript } from '../turn/turn-script.ts';
import { logFrom, simulatedLog, storedLog } from './logged-call.ts';

/** The log of a call that a test drives manually. */
function logOf(lead: (script: TurnScript) => void, changes: Partial<TurnConfig> = {}): ReadFlightLog {
  const inputs: TurnInput[] = [];
  const script = new TurnScript(changes, (input) => inputs.push(input));
  const { config } = script.state;
  script.take({ type: 'call.started' }, { type: 'call.connected' });
  lead(script);
  return logFrom(config, inputs);
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
    const divergence = firstDivergence(log, { responseWaitMs: 300 }, CURRENT_MACHINE);
    expect(divergence).toMatchObject({
      was: { did: { do: 'generate' } },
      wouldBe: { atMs: 1_900, did: { do: 'generate' } },
    });
    expect(divergence?.judged).toBeGreaterThan(0.15);
    expect(divergence?.judged).toBeLessThan(0.4);
  });

  it('changes nothing if it does not affect the call', () => {
    expect(firstDivergence(hesitant(400), { hangupAfterMs: 90_000 }, CURRENT_MACHINE)).toBeNull();
  });

  it('never diverges if it equals the settings of the call', async () => {
    for (let seed = 1; seed <= 25; seed++)
      expect(
        firstDivergence(await simulatedLog(seed), {}, CURRENT_MACHINE),
        `npm run simulate -- --seed ${seed}`,
      ).toBeNull();
  });
});

describe('tuning', () => {
  const QUICK = { response_wait_ms: 250, response_max_wait_ms: 250 };
  const calls = () => [hesitant(450), hesitant(450), hesitant(470)];

  it('counts the callers a shorter wait would have interrupted, and the time it would have saved', () => {
    const { judged, pauses, settings } = calls()
      .map((log) => tallyPart(log, [{}, QUICK]))
      .reduce(addTallies);
    const [own, quick] = settings;
    expect(own).toEqual({ conversation: {}, cut_offs: 0, saved_ms: 0, taken: 3 });
    expect(quick).toMatchObject({ conversation: QUICK, cut_offs: 3 });
    expect((quick?.saved_ms ?? 0) / (quick?.taken ?? 1)).toBeGreaterThan(200);
    expect([judged, pauses]).toEqual([6, 6]);
  });

  it.each([
    ['whose lines are no inputs', (log: string) => `${log}null\n`],
    ['without settings', (log: string) => log.replace(/"config":\{[^\n]*\n/, '"config":{}}\n')],
  ])('leaves out damaged logs, and judges the others: one %s', async (_, damaged) => {
    const log = await storedLog(1);
    expect(damaged(log)).not.toBe(log);
    expect(tallyLogs([damaged(log), log])).toEqual(tallyLogs([log]));
  });

  it('leaves out the calls of an unknown version, and torn logs', async () => {
    const log = await storedLog(1);
    const older = log.replace(/"machine_version":\d+/, '"machine_version":0');
    expect(tallyLogs([older, log, 'torn'])).toEqual(tallyLogs([log]));
    expect(tallyLogs([log]).calls).toBe(1);
  });

  it('is given up when the control plane waits no longer', async () => {
    const log = await storedLog(1);
    const clock = new ManualClock();
    const tally = new ReplayThread(clock).tally({ logs: [log] });
    const refused = expect(tally).rejects.toThrow('ended without a result');
    await clock.advance(30_000);
    await refused;
  });

  it('has one thread, and refuses a request when too many wait for it', async () => {
    const thread = new ReplayThread(new ManualClock());
    const all = Array.from({ length: 6 }, () => thread.tally({ logs: [] }));
    const settled = await Promise.allSettled(all);
    expect(settled.map(({ status }) => status)).toEqual([...Array(5).fill('fulfilled'), 'rejected']);
    await expect(all[5]).rejects.toMatchObject({ code: 'no_capacity' });
    expect((await thread.tally({ logs: [] })).calls).toBe(0);
  });

  it('waits for its turn with the replays of calls, which are given up like it', async () => {
    const log = await storedLog(1);
    const thread = new ReplayThread(new ManualClock());
    const replays = Array.from({ length: 6 }, () => thread.replay({ log, settings: {} }));
    const settled = await Promise.allSettled(replays);
    expect(settled.map(({ status }) => status)).toEqual([...Array(5).fill('fulfilled'), 'rejected']);
    expect(await replays[0]).toEqual({ divergence: null });
    const clock = new ManualClock();
    const late = new ReplayThread(clock).replay({ log, settings: {} });
    const refused = expect(late).rejects.toThrow('ended without a result');
    await clock.advance(30_000);
    await refused;
  });

  it('counts a call once that two workers had', async () => {
    const log = await storedLog(1);
    const [once, twice] = [tallyLogs([log]), tallyLogs([log + log])];
    expect([twice.calls, twice.pauses]).toEqual([1, once.pauses * 2]);
  });
});

describe('the counts of two workers', () => {
  const settings = (response_wait_ms: number) => ({
    conversation: { response_wait_ms },
    cut_offs: 1,
    saved_ms: 5,
    taken: 2,
  });
  const tally = (...waits: number[]) => ({ calls: 1, pauses: 3, judged: 2, settings: waits.map(settings) });

  it('are added for the settings that both have tried', () => {
    expect(addTallies(tally(300, 500), tally(500, 800))).toEqual({
      calls: 2,
      pauses: 6,
      judged: 4,
      settings: [{ conversation: { response_wait_ms: 500 }, cut_offs: 2, saved_ms: 10, taken: 4 }],
    });
  });
});
