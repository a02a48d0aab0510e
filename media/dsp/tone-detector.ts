/**
 * Detects single tones on a phone line: the beep of a mailbox and the answer of a fax machine (ITU-T T.30:
 * 2100 Hz; a calling fax sends 1100 Hz for half a second). Per 20 ms frame, estimates the sinusoid that best
 * predicts the samples and measures its share of the energy (Goertzel). A tone keeps share, frequency and
 * level for many frames; speech, music, key tones and ringing do not.
 */
import { FRAME_MS } from './frame.ts';

/** A detected tone. */
export type Tone = 'beep' | 'fax';

/** Minimum share of a frame's energy in one sinusoid for a tone. */
const MIN_SHARE = 0.93;
/** About −45 dBm0: quieter tones are line noise. */
const MIN_RMS = 150;
const LOWEST_HZ = 350;
const HIGHEST_HZ = 2_200;
/** Mailboxes beep for 150 ms to 2 s. */
const MIN_BEEP_MS = 140;
const MAX_BEEP_MS = 2_200;
/**
 * Largest change of frequency (Hz) and level (ratio) between frames: a whistle or a sung note changes more.
 */
const STEADY_HZ = 12;
const STEADY_LEVEL = 1.5;

const FAX_ANSWER_HZ = 2_100;
const FAX_ANSWER_FROM_MS = 800;
const FAX_CALL_HZ = 1_100;
const FAX_CALL_MS = { from: 420, to: 580 };
const FAX_WITHIN_HZ = 25;
/** The frames at both edges of a tone contain only part of it. */
const EDGE_MS = FRAME_MS;

interface Run {
  readonly hz: number;
  readonly rms: number;
  readonly ms: number;
  /** Already reported while it lasted. */
  readonly isReported: boolean;
}

/** Detects the tones of one line. */
export class ToneDetector {
  readonly #rateHz: number;
  readonly #frame: Int16Array;
  #filled = 0;
  #run: Run | null = null;

  constructor(rateHz: number) {
    this.#rateHz = rateHz;
    this.#frame = new Int16Array(Math.round((rateHz * FRAME_MS) / 1_000));
  }

  /**
   * Takes samples in order, in any quantity; returns a tone once it is certain. A beep is reported at its
   * end, because the recording starts there.
   */
  push(samples: Int16Array): Tone | null {
    let heard: Tone | null = null;
    for (let at = 0; at < samples.length; ) {
      const count = Math.min(samples.length - at, this.#frame.length - this.#filled);
      this.#frame.set(samples.subarray(at, at + count), this.#filled);
      this.#filled += count;
      at += count;
      if (this.#filled < this.#frame.length) break;
      this.#filled = 0;
      heard = this.#onFrame() ?? heard;
    }
    return heard;
  }

  #onFrame(): Tone | null {
    const sine = strongestSine(this.#frame, this.#rateHz);
    const run = this.#run;
    if (sine && run && Math.abs(sine.hz - run.hz) <= STEADY_HZ && isSteady(sine.rms, run.rms)) {
      const grown = { hz: sine.hz, rms: sine.rms, ms: run.ms + FRAME_MS, isReported: run.isReported };
      const isFax =
        !run.isReported &&
        grown.ms >= FAX_ANSWER_FROM_MS &&
        Math.abs(grown.hz - FAX_ANSWER_HZ) <= FAX_WITHIN_HZ;
      this.#run = { ...grown, isReported: run.isReported || isFax };
      return isFax ? 'fax' : null;
    }
    this.#run = sine ? { ...sine, ms: FRAME_MS, isReported: false } : null;
    return run && !run.isReported ? endedTone(run) : null;
  }
}

function endedTone({ hz, ms }: Run): Tone | null {
  if (Math.abs(hz - FAX_CALL_HZ) <= FAX_WITHIN_HZ && ms + EDGE_MS >= FAX_CALL_MS.from && ms <= FAX_CALL_MS.to)
    return 'fax';
  return ms >= MIN_BEEP_MS && ms <= MAX_BEEP_MS ? 'beep' : null;
}

function isSteady(rms: number, before: number): boolean {
  return rms < before * STEADY_LEVEL && before < rms * STEADY_LEVEL;
}

/**
 * The sinusoid that makes up a frame, or null: least squares on x[n] = 2 cos(ω) x[n−1] − x[n−2] gives ω, and
 * its projection the share.
 */
function strongestSine(frame: Int16Array, rateHz: number): { hz: number; rms: number } | null {
  let energy = 0;
  let numerator = 0;
  let denominator = 0;
  for (let n = 0; n < frame.length; n++) {
    const x = frame[n] as number;
    energy += x * x;
    if (n < 2) continue;
    const middle = frame[n - 1] as number;
    numerator += middle * (x + (frame[n - 2] as number));
    denominator += 2 * middle * middle;
  }
  const rms = Math.sqrt(energy / frame.length);
  if (rms < MIN_RMS || denominator === 0) return null;
  const cosine = numerator / denominator;
  if (Math.abs(cosine) >= 1) return null;
  const omega = Math.acos(cosine);
  const hz = (omega * rateHz) / (2 * Math.PI);
  if (hz < LOWEST_HZ || hz > HIGHEST_HZ) return null;
  return sineShare(frame, omega, energy) >= MIN_SHARE ? { hz, rms } : null;
}

/** Goertzel: share of the energy at one frequency. */
function sineShare(frame: Int16Array, omega: number, energy: number): number {
  const coefficient = 2 * Math.cos(omega);
  let before = 0;
  let last = 0;
  for (let n = 0; n < frame.length; n++) {
    const next = (frame[n] as number) + coefficient * last - before;
    before = last;
    last = next;
  }
  const power = last * last + before * before - coefficient * last * before;
  return (2 * power) / (frame.length * energy);
}
