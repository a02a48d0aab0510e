import { describe, expect, it } from 'vitest';
import {
  QUIET,
  type SpeechInput,
  type SpeechState,
  step,
  type VoiceEvent,
  WINDOW_MS,
} from '#media/voice-activity/speech-tracker.ts';

/**
 * Runs windows with these probabilities, the first at 0 ms, each judged 10 ms after its end; the first
 * `audible` windows are audible. `reachMs` sets the threshold beforehand.
 */
function track(
  probabilities: readonly number[],
  options: { reachMs?: number; from?: SpeechState; audible?: number } = {},
) {
  const effects: VoiceEvent[] = [];
  let state = options.from ?? QUIET;
  const take = (input: SpeechInput) => {
    const next = step(state, input);
    state = next.state;
    effects.push(...next.effects);
  };
  if (options.reachMs !== undefined) take({ type: 'watch.set', reachMs: options.reachMs, nowMs: 0 });
  for (const [n, probability] of probabilities.entries()) {
    const audibleEndMs = (n + (n < (options.audible ?? probabilities.length) ? 1 : 0)) * WINDOW_MS;
    take({
      type: 'window.scored',
      startMs: n * WINDOW_MS,
      audibleEndMs,
      probability,
      nowMs: (n + 1) * WINDOW_MS + 10,
    });
  }
  return { effects, take, state: () => state };
}

const times = (count: number, probability: number) => Array.from({ length: count }, () => probability);

describe('the speech tracker', () => {
  it('stamps the onset at the first voiced window and decides at the second', () => {
    expect(track([0, 0.2, 0.9, 0.9]).effects).toEqual([{ type: 'voice.onset', atMs: 64, decidedAtMs: 138 }]);
  });

  it('treats one loud window as a click', () => {
    expect(track([0, 0.99, 0, 0.99, 0, 0.4, 0.4, 0.4]).effects).toEqual([]);
  });

  it('stamps the offset at the end of the last voiced window, after 192 ms without voice', () => {
    const { effects } = track([...times(4, 0.9), ...times(6, 0.1)]);
    expect(effects.at(-1)).toEqual({ type: 'voice.offset', atMs: 128, decidedAtMs: 330, voicedMs: 128 });
  });

  it('stamps the offset at the last audible window though the detector lingers; decides 192 ms later', () => {
    const { effects } = track([...times(4, 0.9), 0.97, 0.7, 0.4, ...times(3, 0.1)], { audible: 4 });
    expect(effects.at(-1)).toEqual({ type: 'voice.offset', atMs: 128, decidedAtMs: 330, voicedMs: 224 });
  });

  it('continues speech too faint to be audible while the detector reports it', () => {
    const { effects } = track([...times(4, 0.9), ...times(20, 0.9), ...times(6, 0.1)], { audible: 4 });
    expect(effects.map((effect) => effect.type)).toEqual(['voice.onset', 'voice.offset']);
    expect(effects.at(-1)).toMatchObject({ atMs: 24 * WINDOW_MS - 160, voicedMs: 24 * WINDOW_MS });
  });

  it('bridges soft syllables and short gaps', () => {
    const { effects } = track([0.9, 0.9, ...times(5, 0.1), 0.4, ...times(5, 0.1), 0.36, ...times(6, 0.3)]);
    expect(effects.map((effect) => effect.type)).toEqual(['voice.onset', 'voice.offset']);
    expect(effects.at(-1)).toMatchObject({ atMs: 14 * WINDOW_MS, voicedMs: 4 * WINDOW_MS });
  });

  it.each([
    [128, 4],
    [256, 8],
    [512, 16],
  ])('reports %i ms of voice with window %i', (reachMs, window) => {
    const { effects } = track(times(20, 0.9), { reachMs });
    expect(effects.filter((effect) => effect.type === 'voice.reached')).toEqual([
      { type: 'voice.reached', atMs: window * WINDOW_MS, voicedMs: reachMs },
    ]);
  });

  it('counts only voiced windows towards the threshold, and restarts with each speech', () => {
    const speech = [0.9, 0.9, 0.1, 0.9, ...times(6, 0)];
    expect(
      track([...speech, ...speech], { reachMs: 128 }).effects.some(
        (effect) => effect.type === 'voice.reached',
      ),
    ).toBe(false);
    expect(track([0.9, 0.9, 0.1, 0.9, 0.9], { reachMs: 128 }).effects.at(-1)).toMatchObject({
      type: 'voice.reached',
      atMs: 160,
    });
  });

  it('applies a threshold set during speech to that speech at once, and each setting only once', () => {
    const { effects, take } = track(times(10, 0.9));
    take({ type: 'watch.set', reachMs: 256, nowMs: 400 });
    take({ type: 'window.scored', startMs: 320, audibleEndMs: 352, probability: 0.9, nowMs: 360 });
    expect(effects.slice(1)).toEqual([{ type: 'voice.reached', atMs: 400, voicedMs: 320 }]);
    take({ type: 'watch.set', reachMs: 0, nowMs: 500 });
    take({ type: 'window.scored', startMs: 352, audibleEndMs: 384, probability: 0.9, nowMs: 400 });
    expect(effects).toHaveLength(2);
  });

  it('ends speech when audio stops', () => {
    const { effects, take, state } = track(times(4, 0.9));
    take({ type: 'audio.stopped', nowMs: 400 });
    expect(effects.at(-1)).toEqual({ type: 'voice.offset', atMs: 128, decidedAtMs: 400, voicedMs: 128 });
    take({ type: 'audio.stopped', nowMs: 420 });
    expect(effects).toHaveLength(2);
    expect(state()).toEqual(QUIET);
  });
});
