/**
 * Detects speech from the probabilities of 32 ms windows: when it began, how much was voiced, when it ended.
 * A pure state machine. Onset and offset are the times when voice began and was last audible, not those of
 * the decision, because the detector reports voice for a while after its end. It has no timers: later windows
 * decide an offset, or `stopped` if no more audio comes.
 */

/** Length of a detector window, ms. */
export const WINDOW_MS = 32;
/** A window at or above this may begin speech. */
const START_PROBABILITY = 0.5;
/**
 * During speech, a window at or above this is voiced: lower than the start, so that soft syllables do not end
 * speech.
 */
export const STAY_PROBABILITY = 0.35;
/** Consecutive voiced windows that make an onset: a single one may be a click. */
const ONSET_WINDOWS = 2;
/**
 * Longest time the detector reports voice after its end; fainter audio than audible within it is still voice.
 */
const MAX_LINGER_MS = 160;
/**
 * Unvoiced time that ends speech. Below 200 ms, so that the end is known when the turn is decided 200 ms
 * after it.
 */
const OFFSET_MS = 6 * WINDOW_MS;

/** State of the caller's speech. */
export type SpeechState =
  | {
      readonly phase: 'quiet';
      readonly reachMs: number;
      readonly voicedWindows: number;
      readonly firstVoicedMs: number;
    }
  | {
      readonly phase: 'speaking';
      readonly reachMs: number;
      readonly isReachReported: boolean;
      readonly voicedMs: number;
      /** When voice was last audible. */
      readonly lastVoicedEndMs: number;
    };

/** Inputs of the machine. */
export type SpeechInput =
  /**
   * The detector's result for the window that began at `startMs`, and the time of its last audible sample
   * (`startMs` if none).
   */
  | {
      readonly type: 'window.scored';
      readonly startMs: number;
      readonly audibleEndMs: number;
      readonly probability: number;
      readonly nowMs: number;
    }
  /** A new `voice.reached` threshold; applies to the current speech at once. */
  | { readonly type: 'watch.set'; readonly reachMs: number; readonly nowMs: number }
  /** Audio has stopped for now. */
  | { readonly type: 'audio.stopped'; readonly nowMs: number };

/** Events of the caller's voice, which a leg reports. */
export type VoiceEvent =
  /** Speech began: `atMs` is the start of the first voiced window, `decidedAtMs` the time of the decision. */
  | { readonly type: 'voice.onset'; readonly atMs: number; readonly decidedAtMs: number }
  /** The current speech has `voicedMs` of voiced audio (the `watchVoice` threshold). */
  | { readonly type: 'voice.reached'; readonly atMs: number; readonly voicedMs: number }
  /** Speech ended: `atMs` is the end of the last voiced window. */
  | {
      readonly type: 'voice.offset';
      readonly atMs: number;
      readonly decidedAtMs: number;
      readonly voicedMs: number;
    };

interface Step {
  readonly state: SpeechState;
  readonly effects: readonly VoiceEvent[];
}

/** The initial state. */
export const QUIET: SpeechState = { phase: 'quiet', reachMs: 0, voicedWindows: 0, firstVoicedMs: 0 };

/** Handles one event. */
export function step(state: SpeechState, input: SpeechInput): Step {
  switch (input.type) {
    case 'window.scored':
      return state.phase === 'quiet' ? whileQuiet(state, input) : whileSpeaking(state, input);
    case 'watch.set':
      if (state.phase === 'quiet') return { state: { ...state, reachMs: input.reachMs }, effects: [] };
      return reach({ ...state, reachMs: input.reachMs, isReachReported: false }, input.nowMs);
    case 'audio.stopped':
      return state.phase === 'quiet'
        ? { state: { ...state, voicedWindows: 0 }, effects: [] }
        : end(state, input.nowMs);
    default:
      return input satisfies never;
  }
}

type Quiet = Extract<SpeechState, { phase: 'quiet' }>;
type Speaking = Extract<SpeechState, { phase: 'speaking' }>;
type Window = Extract<SpeechInput, { type: 'window.scored' }>;

function whileQuiet(state: Quiet, window: Window): Step {
  if (window.probability < START_PROBABILITY) return { state: { ...state, voicedWindows: 0 }, effects: [] };
  const voicedWindows = state.voicedWindows + 1;
  const firstVoicedMs = state.voicedWindows === 0 ? window.startMs : state.firstVoicedMs;
  if (voicedWindows < ONSET_WINDOWS)
    return { state: { ...state, voicedWindows, firstVoicedMs }, effects: [] };
  const lastVoicedEndMs = window.startMs + WINDOW_MS;
  const speaking: Speaking = {
    phase: 'speaking',
    reachMs: state.reachMs,
    isReachReported: false,
    voicedMs: voicedWindows * WINDOW_MS,
    lastVoicedEndMs,
  };
  const reached = reach(speaking, lastVoicedEndMs);
  return {
    state: reached.state,
    effects: [{ type: 'voice.onset', atMs: firstVoicedMs, decidedAtMs: window.nowMs }, ...reached.effects],
  };
}

function whileSpeaking(state: Speaking, window: Window): Step {
  const endMs = window.startMs + WINDOW_MS;
  if (window.probability >= STAY_PROBABILITY) {
    const audibleEndMs = window.audibleEndMs > window.startMs ? window.audibleEndMs : state.lastVoicedEndMs;
    return reach(
      {
        ...state,
        voicedMs: state.voicedMs + WINDOW_MS,
        lastVoicedEndMs: Math.max(audibleEndMs, endMs - MAX_LINGER_MS),
      },
      endMs,
    );
  }
  // Half a window of tolerance: timestamps follow packet arrival and vary by a few milliseconds.
  return endMs - state.lastVoicedEndMs >= OFFSET_MS - WINDOW_MS / 2
    ? end(state, window.nowMs)
    : { state, effects: [] };
}

function reach(state: Speaking, atMs: number): Step {
  if (state.isReachReported || state.reachMs <= 0 || state.voicedMs < state.reachMs)
    return { state, effects: [] };
  return {
    state: { ...state, isReachReported: true },
    effects: [{ type: 'voice.reached', atMs, voicedMs: state.voicedMs }],
  };
}

function end(state: Speaking, nowMs: number): Step {
  const { reachMs, voicedMs, lastVoicedEndMs } = state;
  const offset: VoiceEvent = { type: 'voice.offset', atMs: lastVoicedEndMs, decidedAtMs: nowMs, voicedMs };
  return { state: { ...QUIET, reachMs }, effects: [offset] };
}
