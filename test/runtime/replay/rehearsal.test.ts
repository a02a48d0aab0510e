import { describe, expect, it } from 'vitest';
import { type RehearsedChanges, type RunOutcome, rehearsedOutcomes } from '#protocol/rehearsal.ts';
import { rehearseCall } from '#runtime/replay/rehearsal/rehearse-call.ts';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import type { TurnInput } from '#runtime/turn/machine/turn-inputs.ts';
import { TurnScript } from '../turn/turn-script.ts';
import { BEGAN, logFrom, storedLog, textOf } from './logged-call.ts';

/** The stored log of a call that a test drives manually. */
function logOf(lead: (script: TurnScript) => void, changes: Partial<TurnConfig> = {}): string {
  const inputs: TurnInput[] = [];
  const script = new TurnScript(changes, (input) => inputs.push(input));
  const { config } = script.state;
  script.take({ type: 'call.started' }, { type: 'call.connected' });
  lead(script);
  return textOf(logFrom(config, inputs));
}

function run(log: string, changes: RehearsedChanges): RunOutcome {
  const outcome = rehearseCall({ session_id: 's', log, changes });
  if (outcome.outcome !== 'run') throw new Error(outcome.outcome);
  return outcome;
}

const asked = () =>
  logOf((script) => {
    script.after(1_000).say('book a table please.').answer('For how many?');
    script.after(6_000);
  });

/** Two sentences with a pause between them; the first could be the whole turn. */
const hesitant = (pauseMs: number, waitMs: number) =>
  logOf(
    (script) => {
      script.after(1_000).voice(800).take({ type: 'transcript.final', text: 'I would like a table' });
      script.after(pauseMs).voice(600).take({ type: 'transcript.final', text: 'for two people.' });
      script.after(3_000).answer('Certainly.');
      script.after(2_000);
    },
    { responseWaitMs: waitMs, responseMaxWaitMs: waitMs },
  );

describe('a call under a draft', () => {
  it('is the same to its end if the draft changes nothing that mattered in it', () => {
    expect(run(asked(), { hangup_after_seconds: 90 })).toMatchObject({ difference: null, judged: 1 });
  });

  it('with a shorter wait differs first by an earlier reply, at that time of the recording', () => {
    const { difference, judged } = run(asked(), { response_wait_ms: 300 });
    expect(difference).toMatchObject({ kind: 'reply_earlier', would_be: { did: 'generate' } });
    expect(difference?.would_be?.at_ms).toBe(Date.parse(BEGAN) + 1_900);
    expect(judged).toBeGreaterThan(0.15);
    expect(judged).toBeLessThan(0.4);
  });

  it('with a longer wait differs first by a later reply, and counts the time lost', () => {
    const { difference, pauses } = run(asked(), { response_wait_ms: 1_500 });
    expect(difference?.kind).toBe('reply_later');
    expect(pauses.saved_ms).toBeLessThan(-500);
    expect(pauses.taken).toBe(1);
  });

  it('may cut off a caller who hesitates, and says when', () => {
    const { pauses } = run(hesitant(450, 1_500), { response_wait_ms: 300, response_max_wait_ms: 300 });
    expect(pauses).toMatchObject({ cut_off: 0, would_cut_off: 1, caused: 1, spared: 0 });
    expect(pauses.first_caused_at_ms).toBeGreaterThan(Date.parse(BEGAN) + 1_800);
  });

  it('may spare a caller who was cut off', () => {
    const { pauses } = run(hesitant(450, 300), { response_wait_ms: 1_500, response_max_wait_ms: 1_500 });
    expect(pauses).toMatchObject({ cut_off: 1, would_cut_off: 0, caused: 0, spared: 1 });
  });

  it('ends sooner if the draft’s longest duration is shorter', () => {
    const log = logOf((script) => script.after(70_000).take({ type: 'user.active' }), {
      hangupAfterMs: 600_000,
    });
    expect(run(log, { max_duration_seconds: 60 }).difference).toMatchObject({
      kind: 'hang_up',
      was: null,
      would_be: { at_ms: Date.parse(BEGAN) + 60_000 },
    });
  });

  it('takes an interruption for which the caller’s voice had been too short', () => {
    const interrupted = logOf(
      (script) => {
        script
          .after(1_000)
          .say('what do you have today?')
          .answer('We have bread, rolls and a lot of cake today.');
        script.after(300).take({ type: 'voice.started', speechStartMs: script.nowMs });
        script.after(400).take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 400 });
        script.after(2_000);
      },
      { sensitivity: 'low' },
    );
    expect(run(interrupted, { interruption_sensitivity: 'high' }).difference).toMatchObject({
      kind: 'interruption_taken',
      was: null,
      would_be: { did: 'pause' },
    });
    expect(run(interrupted, { interruption_sensitivity: 'low' }).difference).toBeNull();
  });

  it('is named if its log belongs to another version of the turn machine, or is damaged', () => {
    const outcomeOf = (log: string) => rehearseCall({ session_id: 's', log, changes: {} }).outcome;
    expect(outcomeOf(asked().replace(/"machine_version":\d+/, '"machine_version":1'))).toBe('other_version');
    expect(outcomeOf(`${asked()}null\n`)).toBe('unreadable');
    expect(outcomeOf('torn')).toBe('unreadable');
  });

  it('is counted with the parts of all its workers', () => {
    const [once, twice] = [run(asked(), {}), run(asked() + asked(), {})];
    expect([twice.pauses.all, twice.judged]).toEqual([2 * once.pauses.all, 1]);
  });

  it('never differs under its own settings, and its outcome is one that the link carries', async () => {
    for (let seed = 1; seed <= 25; seed++) {
      const outcome = run(await storedLog(seed), {});
      expect(outcome, `npm run simulate -- --seed ${seed}`).toMatchObject({ difference: null, judged: 1 });
      expect(rehearsedOutcomes.parse({ calls: [outcome] }).calls).toEqual([outcome]);
    }
  });
});
