/** The echo estimate of a line after the agent has spoken for a while, with real speech on both sides. */
import { describe, expect, it } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { levelDb } from '#media/dsp/pcm.ts';
import { EchoPath } from '#media/voice-activity/echo-path.ts';

const RATE_HZ = 8_000;
const FRAME = 160;
const WINDOW = 256;
const AGENT = speak(
  'The restaurant at the old harbour opens every day at noon, and the kitchen serves fresh pasta until ' +
    'ten in the evening.',
  {
    rateHz: RATE_HZ,
  },
).samples;
const CALLER = speak(
  'Do you have a table for two people on the terrace tomorrow at seven, or is it too cold for that already?',
  {
    rateHz: RATE_HZ,
    voice: 'rms',
  },
).samples;

/** The agent's echo: `delayMs` later, `lossDb` weaker, over noise. */
function echoOf(samples: Int16Array, delayMs: number, lossDb: number, noisePeak = 10): Int16Array {
  const delay = (delayMs * RATE_HZ) / 1_000;
  let seed = 1;
  const noise = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (seed / 0x4000_0000 - 1) * noisePeak;
  };
  return samples.map((_, index) => (samples[index - delay] ?? 0) * 10 ** (-lossDb / 20) + noise());
}

function run(path: EchoPath, played: Int16Array, heard: Int16Array, fromMs = 0): void {
  for (let at = 0; at + FRAME <= played.length; at += FRAME) {
    const atMs = fromMs + (at * 1_000) / RATE_HZ;
    path.play(played.subarray(at, at + FRAME), RATE_HZ, atMs);
    path.hear(heard.subarray(at, at + FRAME), RATE_HZ, atMs);
  }
}

function learned(heard: Int16Array) {
  const path = new EchoPath();
  run(path, AGENT, heard);
  return path;
}

const sum = (one: Int16Array, other: Int16Array) => one.map((sample, index) => sample + (other[index] ?? 0));

describe('the echo path', () => {
  it.each([
    [0, 6],
    [120, 20],
    [200, 25],
    [580, 15],
  ])('learns a delay of %i ms and a loss of %i dB', (delayMs, lossDb) => {
    const { echo } = learned(echoOf(AGENT, delayMs, lossDb));
    if (typeof echo === 'string') throw new Error(`it is ${echo}`);
    expect(Math.abs(echo.delayMs - delayMs)).toBeLessThanOrEqual(20);
    expect(Math.abs(echo.lossDb - lossDb)).toBeLessThan(5);
  });

  it('is unsure until it has learned', () => {
    const path = new EchoPath();
    expect(path.isUnsure(0)).toBe(false);
    const begun = AGENT.subarray(0, 0.3 * RATE_HZ);
    run(path, begun, echoOf(begun, 120, 20));
    expect(path.isUnsure(300)).toBe(true);
    run(path, AGENT, echoOf(AGENT, 120, 20), 300);
    expect(path.isUnsure(300 + (AGENT.length * 1_000) / RATE_HZ)).toBe(false);
  });

  it.each([
    [120, 35],
    [200, 25],
    [300, 15],
    [500, 20],
  ])(
    'detects a clear echo after half a second (%i ms, %i dB), before it can interrupt the greeting',
    (delayMs, lossDb) => {
      for (const text of ['Hello, this is the agent.', 'Good morning, how can I help you today?']) {
        const greeting = speak(text, { rateHz: RATE_HZ });
        const heardOut = greeting.samples.subarray(0, ((greeting.startMs + delayMs + 500) * RATE_HZ) / 1_000);
        const path = new EchoPath();
        run(path, heardOut, echoOf(heardOut, delayMs, lossDb));
        if (typeof path.echo === 'string') throw new Error(`it is ${path.echo}`);
        // A rough estimate; it becomes exact later.
        expect(Math.abs(path.echo.delayMs - delayMs)).toBeLessThanOrEqual(60);
        expect(Math.abs(path.echo.lossDb - lossDb)).toBeLessThan(5);
      }
    },
  );

  it('never mistakes a caller as loud as the agent for echo, whenever they start to speak', () => {
    const greeting = speak('Hello, this is the agent.', { rateHz: RATE_HZ }).samples;
    for (let beginMs = 0; beginMs < 1_500; beginMs += 100) {
      const heard = new Int16Array(greeting.length);
      heard.set(CALLER.subarray(0, heard.length - beginMs * 8), beginMs * 8);
      const path = new EchoPath();
      for (let at = 0; at + FRAME <= greeting.length; at += FRAME) {
        const atMs = (at * 1_000) / RATE_HZ;
        path.play(greeting.subarray(at, at + FRAME), RATE_HZ, atMs);
        path.hear(heard.subarray(at, at + FRAME), RATE_HZ, atMs);
        expect(typeof path.echo).toBe('string');
      }
    }
  });

  it('measures the loss correctly while a caller speaks over the echo', () => {
    const path = learned(echoOf(AGENT, 120, 25));
    const spoken = AGENT.subarray(0, 2 * RATE_HZ);
    const over = new Int16Array(spoken.length);
    over.set(CALLER.subarray(0, 0.8 * RATE_HZ), RATE_HZ);
    run(path, spoken, sum(echoOf(spoken, 120, 25), over), (AGENT.length * 1_000) / RATE_HZ);
    if (typeof path.echo === 'string') throw new Error(`it is ${path.echo}`);
    expect(Math.abs(path.echo.lossDb - 25)).toBeLessThan(3);
  });

  it('finds no echo on a quiet line, on a noisy line, or while another person speaks throughout', () => {
    expect(learned(new Int16Array(AGENT.length)).echo).toBe('none');
    expect(learned(echoOf(AGENT, 0, 90, 400)).echo).toBe('none');
    expect(typeof learned(sum(CALLER, new Int16Array(AGENT.length))).echo).toBe('string');
  });

  it('finds no false echo, and learns a real one, when received audio arrives in bursts', () => {
    /** Once a second, eight frames arrive together, stamped with the time of the last. */
    const inBursts = (heard: Int16Array) => {
      const path = new EchoPath();
      let late: number[] = [];
      for (let at = 0; at + FRAME <= AGENT.length; at += FRAME) {
        const atMs = (at * 1_000) / RATE_HZ;
        path.play(AGENT.subarray(at, at + FRAME), RATE_HZ, atMs);
        late.push(at);
        if ((at / FRAME) % 50 < 7) continue;
        for (const from of late) path.hear(heard.subarray(from, from + FRAME), RATE_HZ, atMs);
        late = [];
      }
      return path.echo;
    };
    expect(inBursts(new Int16Array(AGENT.length))).toBe('none');
    expect(inBursts(echoOf(AGENT, 120, 20))).toMatchObject({ delayMs: expect.any(Number) });
  });

  it('classifies the echo as echo, and a louder caller as a speaker', () => {
    const heard = echoOf(AGENT, 120, 25);
    const path = learned(heard);
    const later = (AGENT.length * 1_000) / RATE_HZ;
    run(path, AGENT, heard, later);
    // The last two seconds are still stored, window by window.
    const starts = Array.from({ length: 60 }, (_, index) => AGENT.length - (index + 4) * WINDOW);
    const isCovered = (sound: Int16Array) => (at: number) =>
      path.covers(levelDb(sound, at, at + WINDOW), later + (at * 1_000) / RATE_HZ, 32);
    const echoes = starts.filter((at) => levelDb(heard, at, at + WINDOW) > -55);
    const spoken = starts.filter((at) => levelDb(CALLER, at, at + WINDOW) > -25);
    expect(Math.min(echoes.length, spoken.length)).toBeGreaterThan(10);
    expect(echoes.filter(isCovered(heard)).length / echoes.length).toBeGreaterThan(0.95);
    expect(spoken.filter(isCovered(sum(heard, CALLER))).length / spoken.length).toBeLessThan(0.1);
  });

  it('treats the pause after an echo as its tail, because the detector reports speech slightly longer', () => {
    const path = learned(echoOf(AGENT, 120, 25));
    const endMs = (AGENT.length * 1_000) / RATE_HZ;
    const silence = new Int16Array(RATE_HZ);
    const spoken = AGENT.subarray(0, RATE_HZ);
    run(path, spoken, echoOf(spoken, 120, 25), endMs);
    run(path, silence, silence, endMs + 1_000);
    expect(path.covers(-65, endMs + 1_000 + 120 + 64, 32)).toBe(true);
    expect(path.covers(-20, endMs + 1_000 + 120 + 64, 32)).toBe(false);
    expect(path.covers(-65, endMs + 1_000 + 120 + 300, 32)).toBe(false);
  });

  it('drops an echo that has disappeared, but not because of one word from the caller', () => {
    const path = learned(echoOf(AGENT, 120, 20));
    const lengthMs = (AGENT.length * 1_000) / RATE_HZ;
    const word = CALLER.subarray(0, RATE_HZ / 2);
    const spoken = AGENT.subarray(0, RATE_HZ);
    run(path, spoken, sum(echoOf(spoken, 120, 20), word), lengthMs);
    expect(path.echo).toMatchObject({ delayMs: expect.any(Number) });
    for (let again = 1; again <= 3; again++)
      run(path, AGENT, new Int16Array(AGENT.length), again * lengthMs + 1_000);
    expect(path.echo).toBe('none');
  });
});
