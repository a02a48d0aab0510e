/**
 * Tells the sounds of a queue from speech: hold music, ringing, and beeps in silence. Music keeps its tones
 * for longer than speech does, so the spectrum of each frame is compared with that of a tenth of a second
 * before, in 26 bands of a sixth of an octave (Goertzel). A voice over music counts as speech. Some
 * microseconds a frame.
 */
import { FRAME_MS } from './frame.ts';

/** A change of what is heard. */
export type MusicChange = 'started' | 'stopped';

const RATE_HZ = 8_000;
const FRAME = (RATE_HZ * FRAME_MS) / 1_000;
const BANDS = 26;
const LOWEST_HZ = 150;
/** The lag over which music is steady and speech is not. */
const LAG_FRAMES = 5;
/** About −50 dBm0: quieter frames are silence. */
const MIN_RMS = 90;
/** Frames that music is judged by, and how many of them must not be silent. */
const WINDOW_FRAMES = 125;
const MIN_ACTIVE = 0.85;
/** Mean steadiness from which they are music: speech reaches 0.65, and music seldom less than 0.8. */
const MUSIC_STEADINESS = 0.74;
/** A tone this steady for this long is ringing; nobody speaks so. */
const TONE_STEADINESS = 0.97;
const TONE_FRAMES = 40;
/** Beeps in silence: their length, the silence around them, and how alike two are. */
const BEEP_FRAMES = { from: 5, to: 39 } as const;
const SILENT_FRAMES = 25;
const ALIKE = 0.98;
const BEEPS_WITHIN_FRAMES = 1_500;
/** Without any of it for this long the music is over: the pause of a ringing tone is shorter. */
const OVER_FRAMES = 225;

const COEFFICIENTS = Float64Array.from(
  { length: BANDS },
  (_, band) => 2 * Math.cos((2 * Math.PI * LOWEST_HZ * 2 ** (band / 6)) / RATE_HZ),
);
/** The formants of speech move, and are weak beside the pitch: 6 dB an octave. */
const EMPHASIS = Float64Array.from({ length: BANDS }, (_, band) => 2 ** (band / 6));
const HANN = Float64Array.from(
  { length: FRAME },
  (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (n + 0.5)) / FRAME),
);

/** The frame at work: one is analysed at a time. */
const windowed = new Float64Array(FRAME);

/** The spectrum of a frame, centred and of length 1; null for silence. */
type Profile = Float64Array | null;

interface Burst {
  readonly profile: Float64Array;
  readonly frames: number;
  readonly endFrame: number;
}

/** Listens to one line. */
export class MusicDetector {
  readonly #step: number;
  readonly #frame = new Float64Array(FRAME);
  readonly #profiles: Profile[] = [];
  /** Steadiness of the last frames; −1 for silence. */
  readonly #steadiness: number[] = [];
  #filled = 0;
  #count = 0;
  #toneFrames = 0;
  #lastMusicFrame = Number.NEGATIVE_INFINITY;
  #beep: Burst | null = null;
  #isMusic = false;

  /** `rateHz`: a multiple of 8,000. */
  constructor(rateHz: number) {
    this.#step = Math.max(1, Math.round(rateHz / RATE_HZ));
  }

  /** Takes samples in order, in any quantity that whole frames of 20 ms come in; returns the last change. */
  push(samples: Int16Array): MusicChange | null {
    let change: MusicChange | null = null;
    for (let at = 0; at + this.#step <= samples.length; at += this.#step) {
      let sum = 0;
      for (let n = 0; n < this.#step; n++) sum += samples[at + n] as number;
      this.#frame[this.#filled++] = sum / this.#step;
      if (this.#filled < FRAME) continue;
      this.#filled = 0;
      change = this.#onFrame() ?? change;
    }
    return change;
  }

  #onFrame(): MusicChange | null {
    this.#count += 1;
    const profile = profileOf(this.#frame);
    this.#profiles.push(profile);
    const before = this.#profiles[this.#profiles.length - 1 - LAG_FRAMES] ?? null;
    const steadiness = profile === null ? -1 : before === null ? 0 : likeness(profile, before);
    this.#steadiness.push(steadiness);
    if (this.#profiles.length > WINDOW_FRAMES) this.#profiles.shift();
    if (this.#steadiness.length > WINDOW_FRAMES) this.#steadiness.shift();
    this.#toneFrames = steadiness >= TONE_STEADINESS ? this.#toneFrames + 1 : 0;
    if (this.#toneFrames >= TONE_FRAMES || this.#isTune() || this.#isSecondBeep()) {
      this.#lastMusicFrame = this.#count;
      if (this.#isMusic) return null;
      this.#isMusic = true;
      return 'started';
    }
    if (!this.#isMusic || this.#count - this.#lastMusicFrame < OVER_FRAMES) return null;
    this.#isMusic = false;
    return 'stopped';
  }

  /** Most of the window sounds, and is steady. */
  #isTune(): boolean {
    if (this.#steadiness.length < WINDOW_FRAMES) return false;
    let active = 0;
    let sum = 0;
    for (const value of this.#steadiness) {
      if (value === -1) continue;
      active += 1;
      sum += value;
    }
    return active >= MIN_ACTIVE * WINDOW_FRAMES && sum >= MUSIC_STEADINESS * active;
  }

  /** A short steady sound between silences, like one before it. */
  #isSecondBeep(): boolean {
    const beep = this.#endedBeep();
    if (beep === null) return false;
    const earlier = this.#beep;
    this.#beep = beep;
    return (
      earlier !== null &&
      beep.endFrame - earlier.endFrame <= BEEPS_WITHIN_FRAMES &&
      Math.abs(earlier.frames - beep.frames) <= 2 &&
      likeness(earlier.profile, beep.profile) >= ALIKE
    );
  }

  /** The beep after which the silence has just become long enough. */
  #endedBeep(): Burst | null {
    const profiles = this.#profiles;
    const end = profiles.length - SILENT_FRAMES;
    if (end <= 0 || profiles[end - 1] === null || !isSilent(profiles.slice(end))) return null;
    const start = profiles.lastIndexOf(null, end - 1) + 1;
    const frames = end - start;
    if (start < SILENT_FRAMES || frames < BEEP_FRAMES.from || frames > BEEP_FRAMES.to) return null;
    if (!isSilent(profiles.slice(start - SILENT_FRAMES, start))) return null;
    const profile = profiles[start + (frames >> 1)] as Float64Array;
    // The frames at both edges contain only part of it.
    const isSteady = profiles
      .slice(start + 1, end - 1)
      .every((each) => likeness(each as Float64Array, profile) >= ALIKE);
    return isSteady ? { profile, frames, endFrame: this.#count } : null;
  }
}

function isSilent(profiles: readonly Profile[]): boolean {
  return profiles.every((profile) => profile === null);
}

function profileOf(frame: Float64Array): Profile {
  let energy = 0;
  for (let n = 0; n < FRAME; n++) {
    const sample = frame[n] as number;
    energy += sample * sample;
    windowed[n] = sample * (HANN[n] as number);
  }
  if (energy < MIN_RMS * MIN_RMS * FRAME) return null;
  const profile = new Float64Array(BANDS);
  for (let band = 0; band < BANDS; band += 2) addBands(profile, band);
  let mean = 0;
  for (let band = 0; band < BANDS; band++) mean += (profile[band] as number) / BANDS;
  let length = 0;
  for (let band = 0; band < BANDS; band++) {
    const centred = (profile[band] as number) - mean;
    profile[band] = centred;
    length += centred * centred;
  }
  const norm = Math.sqrt(length) || 1;
  for (let band = 0; band < BANDS; band++) profile[band] = (profile[band] as number) / norm;
  return profile;
}

/** Goertzel's recursion for two bands side by side: neither has to wait for the other. */
function addBands(profile: Float64Array, band: number): void {
  const [low, high] = [COEFFICIENTS[band] as number, COEFFICIENTS[band + 1] as number];
  let lowBefore = 0;
  let lowLast = 0;
  let highBefore = 0;
  let highLast = 0;
  for (let n = 0; n < FRAME; n++) {
    const sample = windowed[n] as number;
    const lowNext = sample + low * lowLast - lowBefore;
    const highNext = sample + high * highLast - highBefore;
    lowBefore = lowLast;
    lowLast = lowNext;
    highBefore = highLast;
    highLast = highNext;
  }
  profile[band] = strength(band, low, lowLast, lowBefore);
  profile[band + 1] = strength(band + 1, high, highLast, highBefore);
}

function strength(band: number, coefficient: number, last: number, before: number): number {
  const power = last * last + before * before - coefficient * last * before;
  return (EMPHASIS[band] as number) * Math.sqrt(Math.max(0, power));
}

/** Correlation of two spectra, −1 to 1. */
function likeness(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let band = 0; band < BANDS; band++) sum += (one[band] as number) * (other[band] as number);
  return sum;
}
