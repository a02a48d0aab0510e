import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { type Spoken, speak } from '#caller/spoken.ts';
import { levelDb } from '#media/dsp/pcm.ts';
import type { LegEvent } from '#media/leg/leg.ts';
import { EchoPath } from '#media/voice-activity/echo-path.ts';
import { LevelGate } from '#media/voice-activity/level-gate.ts';
import {
  emptyMemory,
  loadSilero,
  type SpeechModel,
  type VoiceRateHz,
  windowSamples,
} from '#media/voice-activity/silero.ts';
import { SpeechDetector } from '#media/voice-activity/vad.ts';

const windows = (spoken: Spoken, length: number) =>
  Array.from({ length: Math.floor(spoken.samples.length / length) }, (_, n) =>
    spoken.samples.subarray(n * length, (n + 1) * length),
  );

/** Steady noise, seeded. */
function noise(count: number, amplitude: number): Int16Array {
  let seed = 12_345;
  return Int16Array.from({ length: count }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.round((seed / 2 ** 30 - 1) * amplitude);
  });
}

describe('Silero', () => {
  let model: SpeechModel;
  beforeAll(async () => {
    model = await loadSilero();
  });

  async function probabilities(spoken: Spoken): Promise<number[]> {
    const memory = emptyMemory(spoken.rateHz as VoiceRateHz);
    const scores: number[] = [];
    for (const samples of windows(spoken, windowSamples(memory.rateHz)))
      scores.push((await model.run([{ memory, samples }]))[0] ?? 0);
    return scores;
  }

  it.each([8000, 16_000])('detects speech at %i Hz within 100 ms of the truth', async (rateHz) => {
    const spoken = speak('Please transfer me to a human agent.', { rateHz, beforeMs: 1000, afterMs: 500 });
    const scores = await probabilities(spoken);
    const first = scores.findIndex((score) => score >= 0.5) * 32;
    const end = (scores.findLastIndex((score) => score >= 0.35) + 1) * 32;
    expect(Math.abs(first - spoken.startMs)).toBeLessThan(100);
    expect(Math.abs(end - spoken.endMs)).toBeLessThan(100);
  });

  it('judges a window alike alone and in a batch with other legs', async () => {
    const texts = [
      'Good morning.',
      'I have a question about my bill.',
      'Yes, two people, tomorrow at seven.',
    ];
    const spoken = texts.map((text) => speak(text, { rateHz: 8000, beforeMs: 200, afterMs: 200 }));
    const alone = await Promise.all(spoken.map(probabilities));
    const memories = spoken.map(() => emptyMemory(8000));
    const cut = spoken.map((each) => windows(each, 256));
    for (let n = 0; cut.some((each) => each[n]); n++) {
      const live = cut.flatMap((each, stream) =>
        each.slice(n, n + 1).map((samples) => ({ stream, samples })),
      );
      const scores = await model.run(
        live.map(({ stream, samples }) => ({ memory: memories[stream] ?? emptyMemory(8000), samples })),
      );
      for (const [index, { stream }] of live.entries())
        expect(scores[index]).toBeCloseTo(alone[stream]?.[n] ?? Number.NaN, 3);
    }
  });
});

describe('the level gate', () => {
  it('closes after half a second of steady noise and opens with the first louder window', () => {
    const gate = new LevelGate();
    const passed = Array.from({ length: 40 }, (_, n) => gate.pass(levelDb(noise(256, 300)) + (n % 2), false));
    expect(passed.indexOf(false) * 32).toBeGreaterThanOrEqual(448);
    expect(passed.indexOf(false) * 32).toBeLessThanOrEqual(544);
    expect(passed.at(-1)).toBe(false);
    expect(gate.pass(-30, false)).toBe(true);
  });

  it('never closes during speech', () => {
    const gate = new LevelGate();
    expect(Array.from({ length: 60 }, () => gate.pass(-60, true)).every(Boolean)).toBe(true);
  });

  it('distinguishes voice from noise by level alone', () => {
    const gate = new LevelGate();
    for (let n = 0; n < 30; n++) gate.pass(-50, false);
    expect([-50, -45, -41, -30, -20].map((level) => gate.probabilityOf(level))).toEqual([0, 0, 0, 1, 1]);
  });
});

describe('speech detection', () => {
  const warnings: string[] = [];
  const detector = new SpeechDetector(systemClock, (_, message) => warnings.push(message));
  afterAll(() => detector.close());

  it('sends no silence to the detector, yet detects the first syllable', async () => {
    const events: LegEvent[] = [];
    const tap = detector.open(8000, (event) => events.push(event));
    const spoken = speak('Good morning.', { rateHz: 8000, beforeMs: 1500, afterMs: 400 });
    const startMs = systemClock.now();
    for (let frame = 0; (frame + 1) * 160 <= spoken.samples.length; frame++) {
      // Faster than real time, with time for the detector to answer.
      tap.push(spoken.samples.subarray(frame * 160, (frame + 1) * 160), startMs + frame * 20);
      detector.flush(systemClock.now());
      await systemClock.sleep(frame < 60 ? 1 : 8);
    }
    await expect.poll(() => events.map((event) => event.type)).toEqual(['voice.onset', 'voice.offset']);
    const [onset, offset] = events.map((event) => ('atMs' in event ? event.atMs - startMs : Number.NaN));
    expect(Math.abs((onset ?? 0) - spoken.startMs)).toBeLessThan(100);
    // The end of the voice, not of the detector's certainty.
    expect(Math.abs((offset ?? 0) - spoken.endMs)).toBeLessThan(24);
    tap.close();
  });

  it('ignores echo, and waits longer for a caller while the echo path is unknown', async () => {
    const agent = speak(
      'The kitchen serves fresh pasta with grilled vegetables until ten in the evening, and the garden ' +
        'stays open.',
      {
        rateHz: 8000,
      },
    ).samples;
    const delay = 960;
    const echo = agent.map((_, index) => Math.round((agent[index - delay] ?? 0) / 10));
    let nowMs = 0;
    // On a separate clock the detector's thread never answers in time; levels alone decide, and classify
    // every echo as voice.
    const levels = new SpeechDetector({ ...systemClock, now: () => nowMs }, () => undefined);
    const path = new EchoPath();
    const heardBy = (known: EchoPath | null) => {
      const events: LegEvent[] = [];
      return { events, tap: levels.open(8000, (event) => events.push(event), known) };
    };
    const run = (ear: ReturnType<typeof heardBy>) => {
      for (let at = 0; at + 160 <= agent.length; at += 160) {
        path.play(agent.subarray(at, at + 160), 8000, nowMs);
        path.hear(echo.subarray(at, at + 160), 8000, nowMs);
        ear.tap.push(echo.subarray(at, at + 160), nowMs);
        nowMs += 20;
        levels.flush(nowMs);
      }
      nowMs += 2_000;
      ear.tap.tick(nowMs);
    };
    const unsure = heardBy(path);
    unsure.tap.watch(64, 100_000);
    run(unsure);
    // Until the path was known the echo counted as voice, but not as speech over the agent.
    expect(unsure.events.map(({ type }) => type)).toContain('voice.onset');
    expect(unsure.events.map(({ type }) => type)).not.toContain('voice.reached');
    const known = heardBy(path);
    run(known);
    expect(known.events).toEqual([]);
    const deaf = heardBy(null);
    deaf.tap.watch(64, 100_000);
    run(deaf);
    expect(deaf.events.map(({ type }) => type)).toContain('voice.reached');
    await levels.close();
  });

  it('detects the end of a caller with a television behind them, and ignores the television', async () => {
    const television = speak(
      'And now the weather for tomorrow, with heavy rain in the north. The minister said that talks will ' +
        'continue.',
      {
        rateHz: 8000,
        voice: 'awb',
      },
    ).samples;
    const caller = speak('What are your opening hours on Sunday, and do you have a terrace?', {
      rateHz: 8000,
    });
    const beginMs = 2_000;
    const line = Int16Array.from({ length: beginMs * 8 + caller.samples.length + 5 * 8_000 }, (_, index) =>
      Math.round(
        (television[index % television.length] ?? 0) / 10 + (caller.samples[index - beginMs * 8] ?? 0),
      ),
    );
    let nowMs = 0;
    // On a separate clock, levels alone decide, and classify every sound as voice.
    const levels = new SpeechDetector({ ...systemClock, now: () => nowMs }, () => undefined);
    const events: LegEvent[] = [];
    const tap = levels.open(8000, (event) => events.push(event));
    for (let at = 0; at + 160 <= line.length; at += 160) {
      tap.push(line.subarray(at, at + 160), nowMs);
      nowMs += 20;
      levels.flush(nowMs);
    }
    const last = events.at(-1);
    if (last?.type !== 'voice.offset') throw new Error(`it is ${last?.type}`);
    expect(Math.abs(last.atMs - beginMs - caller.endMs)).toBeLessThan(250);
    await levels.close();
  });

  it('counts a complete word, consonants included: 256 ms of voice take little longer than that', async () => {
    const [question, stop] = ['What are your opening hours?', 'Stop please.'].map((text) =>
      speak(text, { rateHz: 8000, beforeMs: 300, afterMs: 700 }),
    );
    const line = Int16Array.from([...(question?.samples ?? []), ...(stop?.samples ?? [])]);
    let nowMs = 0;
    const levels = new SpeechDetector({ ...systemClock, now: () => nowMs }, () => undefined);
    const events: LegEvent[] = [];
    const tap = levels.open(8000, (event) => events.push(event));
    tap.watch(256);
    for (let at = 0; at + 160 <= line.length; at += 160) {
      tap.push(line.subarray(at, at + 160), nowMs);
      nowMs += 20;
      levels.flush(nowMs);
    }
    expect(events.map(({ type }) => type).slice(-3)).toEqual([
      'voice.onset',
      'voice.reached',
      'voice.offset',
    ]);
    const reached = events.findLast((event) => event.type === 'voice.reached');
    const beginMs = (question?.samples.length ?? 0) / 8 + (stop?.startMs ?? 0);
    expect((reached?.atMs ?? Number.NaN) - beginMs).toBeLessThan(400);
    await levels.close();
  });

  it('collects windows of many legs for two turns of the wheel, and sends those of a few at once', async () => {
    const gathering = new SpeechDetector(systemClock, () => undefined);
    const window = noise(windowSamples(8000), 8000);
    const taps = [gathering.open(8000, () => undefined)];
    const hasQueuedAfter = (nowMs: number) => {
      for (const tap of taps) tap.push(window, systemClock.now());
      gathering.flush(nowMs);
      return gathering.hasQueued;
    };
    expect([0, 5, 10, 15].map(hasQueuedAfter)).toEqual([false, false, false, false]);
    while (taps.length < 6) taps.push(gathering.open(8000, () => undefined));
    expect([20, 25, 30, 35, 40].map(hasQueuedAfter)).toEqual([true, false, true, false, true]);
    await gathering.close();
  });

  it('falls back to levels within 200 ms while the detector does not answer', async () => {
    let nowMs = 0;
    const clock = { ...systemClock, now: () => nowMs };
    const unanswered = new SpeechDetector(clock, () => undefined);
    const events: LegEvent[] = [];
    const tap = unanswered.open(8000, (event) => events.push(event));
    const samples = Int16Array.from([...noise(8000, 20), ...noise(3200, 8000)]);
    // The detector's thread is real, but its answers could be read only if this loop ever waited.
    for (let frame = 0; frame < samples.length / 160; frame++) {
      tap.push(samples.subarray(frame * 160, (frame + 1) * 160), nowMs - 20);
      nowMs += 20;
      unanswered.flush(nowMs);
    }
    const onset = events.find((event) => event.type === 'voice.onset');
    expect(onset).toBeDefined();
    if (onset?.type === 'voice.onset') expect(onset.decidedAtMs - onset.atMs).toBeLessThan(64 + 200);
    await unanswered.close();
  });
});
