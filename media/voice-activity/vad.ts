/**
 * Speech detection on the media thread: cuts each leg's audio into 32 ms windows in arrival order, holds back
 * silence (level gate), sends the rest to the detector's thread, all legs in one message, and converts the
 * results to voice events. While the detector does not answer, levels alone decide, so that every call keeps
 * speech detection.
 */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '#base/clock.ts';
import { levelDb, SILENCE_DB } from '../dsp/pcm.ts';
import type { EchoPath } from './echo-path.ts';
import { Foreground } from './foreground.ts';
import { LevelGate } from './level-gate.ts';
import { type VoiceRateHz, windowSamples } from './silero.ts';
import {
  QUIET,
  type SpeechInput,
  type SpeechState,
  STAY_PROBABILITY,
  step,
  type VoiceEvent,
  WINDOW_MS,
} from './speech-tracker.ts';
import { type FromDetector, HEAD_NUMBERS, type ToDetector, WindowBatch } from './vad-messages.ts';

/**
 * A window without a result within this time is decided by its level: with a tick of 5 ms the result is
 * certain within 200 ms.
 */
const ANSWER_TIMEOUT_MS = 150;
/** Delay before a detector that had worked is restarted. */
const RESTART_DELAY_MS = 5000;
/** A turn of the wheel this late means that our own thread was blocked. */
const STALL_MS = 50;
/**
 * At this many legs or more, windows are collected for two turns of the wheel, less the jitter of a turn: a
 * model run has a fixed cost, and 30 legs take a third less. With fewer legs there is little to collect, and
 * nothing waits.
 */
const GATHER_FROM_LEGS = 4;
const GATHER_MS = 8;
/** Windows sent before the one that opened the gate. */
const PRE_ROLL_WINDOWS = 3;
/** After a larger gap audio starts a new window instead of continuing the current one. */
const GAP_MS = 60;
/** Speech ends if no audio at all has arrived for this long. */
const STOPPED_MS = 200;

/** Resolution of the end of a voice. */
const BLOCK_MS = 8;

/** One window of one leg, from its first sample to its result; then reused. */
interface HeardWindow {
  readonly samples: Int16Array;
  startMs: number;
  levelDb: number;
  /** The result by level alone. */
  fallback: number;
  /** No louder than our own echo. */
  isEcho: boolean;
  /** May be an echo that was not known yet. */
  isUnsure: boolean;
  /** Its number among those sent to the detector, and the time of sending. */
  window: number;
  sentMs: number;
}

/** Speech detection for the legs of one media thread. */
export class SpeechDetector {
  readonly #clock: Clock;
  readonly #log: (level: 'warn', message: string, detail?: unknown) => void;
  readonly #taps = new Map<number, VoiceTap>();
  #worker: Worker | null = null;
  #restartTimer: Timer | null = null;
  /** False once it has failed without ever answering: it cannot be loaded on this machine. */
  #canStart = true;
  #hasAnswered = false;
  #isClosed = false;
  #isDelayLogged = false;
  #lastFlushMs = Number.NEGATIVE_INFINITY;
  #lastSentMs = Number.NEGATIVE_INFINITY;
  /** Before this time no result can be overdue. */
  #overdueMs = Number.NEGATIVE_INFINITY;
  #nextStream = 1;
  readonly #queued = new WindowBatch();

  constructor(clock: Clock, log: (level: 'warn', message: string, detail?: unknown) => void) {
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Opens one leg's tap; the first starts the detector's thread if it is not running. `echo`: the echo path,
   * if audio is played to the peer.
   */
  open(rateHz: VoiceRateHz, emit: (event: VoiceEvent) => void, echo: EchoPath | null = null): VoiceTap {
    const stream = this.#nextStream++;
    const tap = new VoiceTap({ stream, rateHz, emit, echo, detector: this, clock: this.#clock });
    this.#taps.set(stream, tap);
    if (this.#worker) this.#post({ type: 'open', stream, rateHz });
    else this.warmUp();
    return tap;
  }

  /** Starts the detector's thread before the first tap. */
  warmUp(): void {
    if (!this.#worker && this.#canStart && !this.#restartTimer && !this.#isClosed) this.#start();
  }

  /** Removes a tap. */
  remove(stream: number): void {
    this.#taps.delete(stream);
    this.#post({ type: 'close', stream });
  }

  /** Queues one window for the next `sendQueued`. */
  submit(stream: number, window: number, samples: Int16Array): void {
    this.#queued.add(stream, window, samples);
  }

  /** True while windows wait for `sendQueued`. */
  get hasQueued(): boolean {
    return !this.#queued.isEmpty;
  }

  /** True if the windows of all legs are collected; otherwise sending each at once costs less than a turn. */
  get gathers(): boolean {
    return this.#taps.size >= GATHER_FROM_LEGS;
  }

  /** Sends the queued windows of all legs together. */
  sendQueued(nowMs: number): void {
    if (!this.hasQueued) return;
    this.#lastSentMs = nowMs;
    const { heads, samples } = this.#queued.take();
    this.#worker?.postMessage({ type: 'windows', heads, samples } satisfies ToDetector, [
      heads.buffer,
      samples.buffer,
    ]);
  }

  /**
   * Sends the queued windows of all legs together, and decides overdue ones by level; called once per turn of
   * the wheel.
   */
  flush(nowMs: number): void {
    if (!this.gathers || nowMs - this.#lastSentMs >= GATHER_MS) this.sendQueued(nowMs);
    // After our own thread was blocked its answers may be unread: waits one more turn.
    const wasStalled = nowMs - this.#lastFlushMs > STALL_MS;
    this.#lastFlushMs = nowMs;
    if (!wasStalled && (nowMs >= this.#overdueMs || !this.#worker)) this.#judgeOverdue(nowMs);
  }

  #judgeOverdue(nowMs: number): void {
    let overdue = 0;
    let oldestMs = nowMs;
    for (const tap of this.#taps.values()) {
      overdue += tap.judgeOverdue(this.#worker ? nowMs - ANSWER_TIMEOUT_MS : nowMs);
      oldestMs = Math.min(oldestMs, tap.oldestSentMs);
    }
    this.#overdueMs = oldestMs + ANSWER_TIMEOUT_MS;
    if (overdue === 0 || this.#isDelayLogged || !this.#hasAnswered) return;
    this.#isDelayLogged = true;
    this.#log('warn', 'the speech detector does not answer in time; levels decide meanwhile');
  }

  /**
   * Ends the detector's thread; resolves when it has ended. It is asked to end, never terminated: inside the
   * native runtime that would abort the process.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#restartTimer?.cancel();
    const worker = this.#worker;
    if (!worker) return;
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    this.#post({ type: 'stop' });
    await exited;
  }

  #post(message: ToDetector): void {
    this.#worker?.postMessage(message);
  }

  #start(): void {
    this.#restartTimer = null;
    const worker = new Worker(new URL('./vad-thread-entry.ts', import.meta.url), {
      execArgv: [],
      name: 'speech-detector',
    });
    this.#worker = worker;
    worker.on('message', (message: FromDetector) => this.#receive(message));
    worker.on('error', (error) => this.#ended(error));
    worker.on('exit', () => this.#ended(null));
    for (const [stream, { rateHz }] of this.#taps) this.#post({ type: 'open', stream, rateHz });
  }

  #receive(message: FromDetector): void {
    if (message.type === 'ready') return;
    this.#hasAnswered = true;
    const { heads, probabilities } = message;
    for (let index = 0; index < probabilities.length; index++) {
      const at = index * HEAD_NUMBERS;
      this.#taps.get(heads[at] as number)?.score(heads[at + 1] as number, probabilities[index] as number);
    }
  }

  #ended(error: unknown): void {
    if (!this.#worker) return;
    this.#worker = null;
    if (this.#isClosed) return;
    this.#log('warn', 'the speech detector ended; levels decide instead', error ?? undefined);
    // If it never worked it cannot be loaded on this machine: a restart would not help.
    this.#canStart = this.#hasAnswered;
    if (this.#canStart) this.#restartTimer = this.#clock.after(RESTART_DELAY_MS, () => this.#start());
  }
}

interface VoiceTapOptions {
  readonly stream: number;
  readonly rateHz: VoiceRateHz;
  readonly emit: (event: VoiceEvent) => void;
  readonly echo: EchoPath | null;
  readonly detector: SpeechDetector;
  readonly clock: Clock;
}

/** Speech detection of one leg. */
export class VoiceTap {
  readonly rateHz: VoiceRateHz;
  readonly #stream: number;
  readonly #emit: (event: VoiceEvent) => void;
  readonly #detector: SpeechDetector;
  readonly #clock: Clock;
  readonly #echo: EchoPath | null;
  readonly #gate = new LevelGate();
  readonly #foreground = new Foreground();
  readonly #pending: HeardWindow[] = [];
  readonly #preRoll: HeardWindow[] = [];
  /** Windows for reuse. */
  readonly #spare: HeardWindow[] = [];
  #window: HeardWindow;
  #filled = 0;
  /** Clock time at which the audio so far ends. */
  #endMs = Number.NEGATIVE_INFINITY;
  #nextWindow = 0;
  #speech: SpeechState = QUIET;
  /** The `voice.reached` threshold, and the one that applies while an unknown echo is possible. */
  #reachMs = 0;
  #unsureReachMs = 0;
  /** Level of the current speech's loudest window. */
  #loudestDb = SILENCE_DB;

  constructor(options: VoiceTapOptions) {
    this.rateHz = options.rateHz;
    this.#stream = options.stream;
    this.#emit = options.emit;
    this.#detector = options.detector;
    this.#clock = options.clock;
    this.#echo = options.echo;
    this.#window = emptyWindow(options.rateHz);
  }

  /** Takes audio whose first sample was spoken at `atMs`. */
  push(samples: Int16Array, atMs: number): void {
    if (atMs - this.#endMs > GAP_MS) this.#filled = 0;
    this.#endMs = atMs + (samples.length * 1000) / this.rateHz;
    for (let taken = 0; taken < samples.length; ) {
      const window = this.#window.samples;
      const count = Math.min(samples.length - taken, window.length - this.#filled);
      const at = this.#filled;
      for (let n = 0; n < count; n++) window[at + n] = samples[taken + n] as number;
      this.#filled += count;
      taken += count;
      if (this.#filled === window.length) this.#endWindow(atMs + (taken * 1000) / this.rateHz - WINDOW_MS);
    }
  }

  /**
   * Sets the `voice.reached` threshold, and the one for speech that begins while an unknown echo is possible.
   */
  watch(reachMs: number, unsureReachMs = reachMs): void {
    this.#reachMs = reachMs;
    this.#unsureReachMs = unsureReachMs;
    this.#step({ type: 'watch.set', reachMs, nowMs: this.#clock.now() });
  }

  /** Ends the current speech if audio has stopped; called once per slot. */
  tick(nowMs: number): void {
    if (this.#pending.length > 0 || nowMs - this.#endMs < STOPPED_MS) return;
    this.#filled = 0;
    if (this.#speech !== QUIET) this.#step({ type: 'audio.stopped', nowMs });
  }

  /** Takes the detector's result; ignored if the level has already decided the window. */
  score(window: number, probability: number): void {
    // Earlier windows without a result (dropped by a detector far behind) are decided by level.
    while (this.#pending[0] && this.#pending[0].window < window) this.#judgeFirst(this.#pending[0].fallback);
    if (this.#pending[0]?.window === window) this.#judgeFirst(probability);
  }

  /** Decides by level the windows sent at or before `sentMs`; returns their number. */
  judgeOverdue(sentMs: number): number {
    let judged = 0;
    for (; this.#pending[0] && this.#pending[0].sentMs <= sentMs; judged++)
      this.#judgeFirst(this.#pending[0].fallback);
    return judged;
  }

  /** Sending time of the first undecided window; infinite if there is none. */
  get oldestSentMs(): number {
    return this.#pending[0]?.sentMs ?? Number.POSITIVE_INFINITY;
  }

  /** Ends the tap; no more events follow. */
  close(): void {
    this.#detector.remove(this.#stream);
  }

  #endWindow(startMs: number): void {
    const window = this.#window;
    this.#window = this.#spare.pop() ?? emptyWindow(this.rateHz);
    this.#filled = 0;
    const level = levelDb(window.samples);
    const passes = this.#gate.pass(level, this.#speech.phase === 'speaking');
    window.startMs = startMs;
    window.levelDb = level;
    window.fallback = this.#gate.probabilityOf(level);
    window.isEcho = this.#echo?.covers(level, startMs, WINDOW_MS) ?? false;
    window.isUnsure = this.#echo?.isUnsure(startMs) ?? false;
    this.#preRoll.push(window);
    if (passes) {
      for (const each of this.#preRoll) this.#submit(each);
      this.#preRoll.length = 0;
    } else if (this.#preRoll.length > PRE_ROLL_WINDOWS) {
      this.#spare.push(this.#preRoll.shift() as HeardWindow);
    }
  }

  #submit(window: HeardWindow): void {
    window.window = this.#nextWindow++;
    window.sentMs = this.#clock.now();
    this.#pending.push(window);
    this.#detector.submit(this.#stream, window.window, window.samples);
  }

  #judgeFirst(probability: number): void {
    const window = this.#pending.shift();
    if (!window) return;
    const { startMs } = window;
    const mayBeVoice = probability >= STAY_PROBABILITY && !window.isEcho;
    const isVoice = mayBeVoice && !this.#foreground.isBehind(window.levelDb, startMs);
    this.#loudestDb =
      this.#speech.phase === 'speaking' ? Math.max(this.#loudestDb, window.levelDb) : window.levelDb;
    const audibleEndMs = startMs + this.#audibleMs(window.samples);
    const nowMs = this.#clock.now();
    const reachMs = window.isUnsure ? this.#unsureReachMs : this.#reachMs;
    if (this.#speech.phase === 'quiet' && this.#speech.reachMs !== reachMs)
      this.#step({ type: 'watch.set', reachMs, nowMs });
    this.#step({
      type: 'window.scored',
      startMs,
      audibleEndMs,
      probability: isVoice ? probability : 0,
      nowMs,
    });
    this.#spare.push(window);
  }

  /** End of the last audible block of a window; 0 if there is none. */
  #audibleMs(samples: Int16Array): number {
    const block = (BLOCK_MS * this.rateHz) / 1000;
    const audibleDb = this.#gate.audibleDb(this.#loudestDb);
    let end = samples.length;
    while (end > 0 && levelDb(samples, end - block, end) < audibleDb) end -= block;
    return (end * 1000) / this.rateHz;
  }

  #step(input: SpeechInput): void {
    const { state, effects } = step(this.#speech, input);
    this.#speech = state;
    for (const effect of effects) this.#emit(effect);
  }
}

function emptyWindow(rateHz: VoiceRateHz): HeardWindow {
  const samples = new Int16Array(windowSamples(rateHz));
  return {
    samples,
    startMs: 0,
    levelDb: SILENCE_DB,
    fallback: 0,
    isEcho: false,
    isUnsure: false,
    window: 0,
    sentMs: 0,
  };
}
