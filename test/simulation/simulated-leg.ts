/**
 * A leg without audio: it plays its input in virtual time and records what was really played. Every sample
 * carries the number of its word, which reveals independently which words were played to their end.
 */
import type { Clock, Timer } from '#base/clock.ts';
import { pressesOf } from '#config/telephone-keys.ts';
import type { Leg, LegCloseReason, LegCommand, LegEvent } from '#media/leg/leg.ts';

/** A low sample rate for simulations: one sample per millisecond. */
export const SIMULATED_RATE_HZ = 1_000;

/** Word numbers are used as samples, and must be loud enough to count as voice. */
const LEAST_NUMBER = 1_000;

/** Words spoken by a simulated voice, by the number in their samples. */
export interface SpokenWords {
  /** Returns the number of a new word. */
  add(word: string, samples: number): number;
  word(number: number): { readonly text: string; readonly samples: number } | undefined;
}

/** Creates a register of words. */
export function createSpokenWords(): SpokenWords {
  const words: { text: string; samples: number }[] = [];
  return {
    add: (text, samples) => LEAST_NUMBER + words.push({ text, samples }),
    word: (number) => words[number - LEAST_NUMBER - 1],
  };
}

type Play = Extract<LegCommand, { do: 'play' }>;

/** One reply as it was actually played. */
export interface PlayedReply {
  readonly replyId: string;
  startedMs: number | null;
  readonly words: string[];
  isOver: boolean;
}

/** A simulated media path. */
export class SimulatedLeg implements Leg {
  readonly id = 'simulated';
  readonly kind: Leg['kind'];
  readonly inRateHz = 8_000;
  readonly outRateHz = SIMULATED_RATE_HZ;
  readonly originMs = 0;
  readonly played: PlayedReply[] = [];
  readonly violations: string[] = [];
  readonly #messages: string[] = [];
  readonly musicMs: number[] = [];
  /** Keys as they were sent. */
  readonly pressed: { readonly keys: string; readonly atMs: number; readonly untilMs: number }[] = [];
  /** First samples of the audio that other legs played here. */
  readonly mixed: { readonly source: string; readonly sample: number }[] = [];
  isRelaying = false;
  readonly #clock: Clock;
  readonly #words: SpokenWords;
  readonly #latencyMs: number;
  #listener: ((events: readonly LegEvent[]) => void) | null = null;
  #early: LegEvent[] = [];
  #queue: Play[] = [];
  #position = 0;
  #wordSamples = 0;
  #mark = 0;
  #resumedMs: number | null = null;
  #timer: Timer | null = null;
  #pressing: Timer | null = null;
  /** In transit to the leg since `#sentMs`. */
  #sent: LegCommand[] = [];
  #sentMs = 0;
  #isPaused = false;
  #isHeld: boolean;
  #isClosed = false;
  reachMs = 0;
  readonly #given = new Set<string>();

  constructor(options: {
    clock: Clock;
    words: SpokenWords;
    latencyMs: number;
    kind?: Leg['kind'];
    isHeld?: boolean;
  }) {
    this.kind = options.kind ?? 'rtp';
    this.#clock = options.clock;
    this.#words = options.words;
    this.#latencyMs = options.latencyMs;
    this.#isHeld = options.isHeld ?? false;
  }

  /** All messages sent to the page. */
  get messages(): readonly Record<string, unknown>[] {
    return this.#messages.map((json) => JSON.parse(json));
  }

  /** Whether agent audio is being sent. */
  get isTalking(): boolean {
    return this.#resumedMs !== null;
  }

  listen(listener: (events: readonly LegEvent[]) => void): void {
    this.#listener = listener;
    if (this.#early.length > 0) listener(this.#early);
    this.#early = [];
  }

  /** Commands sent at the same time arrive at the same time. */
  send(command: LegCommand): void {
    if (this.#sent.length === 0 || this.#sentMs !== this.#clock.now()) {
      const batch: LegCommand[] = [];
      this.#sent = batch;
      this.#sentMs = this.#clock.now();
      this.#clock.after(this.#latencyMs, () => {
        if (this.#sent === batch) this.#sent = [];
        for (const each of batch) this.#take(each);
      });
    }
    this.#sent.push(command);
  }

  /** Emits an event to the call loop, with the latency of a message between threads. */
  emit(event: LegEvent): void {
    if (this.#isClosed && event.type !== 'closed') return;
    this.#clock.after(this.#latencyMs, () => {
      if (this.#listener) this.#listener([event]);
      else this.#early.push(event);
    });
  }

  /** The far end can hear from now on: pending audio is played. */
  connect(): void {
    this.#isHeld = false;
    this.emit({ type: 'connected', atMs: this.#clock.now() });
    this.#go();
  }

  /** The worker of this leg dies: playback and events stop. */
  abandon(): void {
    this.#stop();
    this.#isClosed = true;
    this.#listener = () => undefined;
  }

  /** The far end hangs up. */
  close(reason: LegCloseReason): void {
    if (this.#isClosed) return;
    this.#stop();
    this.#isClosed = true;
    this.emit({
      type: 'closed',
      atMs: this.#clock.now(),
      reason,
      stats: { packetsReceived: 0, packetsLost: 0, packetsSent: 0, jitterMs: 0 },
    });
  }

  #take(command: LegCommand): void {
    if (this.#isClosed) return;
    switch (command.do) {
      case 'play':
        this.#play(command);
        break;
      case 'pause':
        this.#stop();
        this.#isPaused = true;
        this.emit({
          type: 'playout.paused',
          atMs: this.#clock.now(),
          position: this.#where() ?? { replyId: '', pieceId: 0, sample: 0 },
        });
        break;
      case 'resume':
        this.#isPaused = false;
        this.#go();
        break;
      case 'clear':
        this.#clear();
        break;
      case 'watchVoice':
        this.reachMs = command.reachMs;
        break;
      case 'sendMessage':
        this.#messages.push(command.json);
        break;
      case 'mix':
        this.mixed.push({ source: command.source, sample: command.samples[0] ?? 0 });
        break;
      case 'relay':
        this.isRelaying = command.isOn;
        break;
      case 'sendDigits':
        this.#press(command);
        break;
      case 'dropDigits':
        this.#pressing?.cancel();
        break;
      case 'holdMusic':
        if (command.isOn) this.musicMs.push(this.#clock.now());
        break;
      case 'close':
        this.close('local');
        break;
      default:
    }
  }

  /** A fifth of a second a key, as on a phone. */
  #press({ digits, pressId }: Extract<LegCommand, { do: 'sendDigits' }>): void {
    const ms = pressesOf(digits).reduce((sum, press) => sum + ('pauseMs' in press ? press.pauseMs : 200), 0);
    if (this.isTalking) this.violations.push('keys are pressed while the agent speaks');
    this.pressed.push({ keys: digits, atMs: this.#clock.now(), untilMs: this.#clock.now() + ms });
    this.#pressing = this.#clock.after(ms, () => {
      if (pressId !== undefined) this.emit({ type: 'digits.sent', atMs: this.#clock.now(), pressId });
    });
  }

  #play(piece: Play): void {
    const last = this.played.at(-1);
    let reply = this.played.find(({ replyId }) => replyId === piece.replyId);
    if (reply?.isOver) this.violations.push(`${piece.replyId} is played after its end`);
    if (!reply) {
      if (last && !last.isOver && !this.#given.has(last.replyId))
        this.violations.push(`${piece.replyId} begins before the end of ${last.replyId} was given`);
      reply = { replyId: piece.replyId, startedMs: null, words: [], isOver: false };
      this.played.push(reply);
    }
    if (piece.last) this.#given.add(piece.replyId);
    this.#queue.push(piece);
    this.#go();
  }

  #clear(): void {
    this.#stop();
    this.emit({ type: 'playout.cleared', atMs: this.#clock.now(), position: this.#where() });
    for (const { replyId } of this.#queue) this.#reply(replyId).isOver = true;
    const last = this.played.at(-1);
    if (last) last.isOver = true;
    this.#queue = [];
    this.#position = 0;
    this.#mark = 0;
    this.#wordSamples = 0;
    this.#isPaused = false;
  }

  #where() {
    const piece = this.#queue[0];
    return piece
      ? { replyId: piece.replyId, pieceId: piece.pieceId, sample: this.#position }
      : this.#lastPosition;
  }

  #lastPosition: { replyId: string; pieceId: number; sample: number } | null = null;

  #reply(replyId: string): PlayedReply {
    return this.played.find((reply) => reply.replyId === replyId) as PlayedReply;
  }

  /** Continues playing up to the next mark or end. */
  #go(): void {
    if (this.#timer || this.#isPaused || this.#isHeld || this.#isClosed) return;
    const piece = this.#queue[0];
    if (!piece) return;
    const reply = this.#reply(piece.replyId);
    if (reply.startedMs === null && piece.samples.length > 0) {
      reply.startedMs = this.#clock.now();
      this.emit({ type: 'playout.started', atMs: this.#clock.now(), replyId: piece.replyId });
    }
    this.#resumedMs = this.#clock.now();
    const until = Math.min(piece.samples.length, piece.marks[this.#mark] ?? piece.samples.length);
    this.#timer = this.#clock.after(until - this.#position, () => this.#reach(piece));
  }

  #reach(piece: Play): void {
    this.#stop();
    while (this.#mark < piece.marks.length && (piece.marks[this.#mark] as number) <= this.#position) {
      this.emit({
        type: 'playout.mark',
        atMs: this.#clock.now(),
        replyId: piece.replyId,
        pieceId: piece.pieceId,
        mark: this.#mark,
      });
      this.#mark += 1;
    }
    if (this.#position >= piece.samples.length) this.#endPiece(piece);
    this.#go();
  }

  #endPiece(piece: Play): void {
    this.#queue.shift();
    this.#lastPosition = { replyId: piece.replyId, pieceId: piece.pieceId, sample: piece.samples.length };
    this.#position = 0;
    this.#mark = 0;
    if (piece.last) {
      this.#reply(piece.replyId).isOver = true;
      this.#lastPosition = null;
      this.emit({ type: 'playout.finished', atMs: this.#clock.now(), replyId: piece.replyId });
    }
  }

  /** Counts the samples sent since playback resumed. */
  #stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const piece = this.#queue[0];
    if (this.#resumedMs === null || !piece) return;
    // A started sample has not been played yet: its mark has not been reported either.
    const until = Math.min(
      piece.samples.length,
      Math.floor(this.#position + this.#clock.now() - this.#resumedMs + 0.001),
    );
    for (let index = this.#position; index < until; ) index = this.#countRun(piece, index, until);
    this.#position = until;
    this.#resumedMs = null;
  }

  /** Counts equal samples, which are of one word or of a pause, up to `until`; returns where they end. */
  #countRun({ replyId, samples }: Play, from: number, until: number): number {
    const number = samples[from] as number;
    let end = from + 1;
    while (end < until && samples[end] === number) end += 1;
    if (number === 0) return end;
    const before = from > 0 && samples[from - 1] === number ? this.#wordSamples : 0;
    this.#wordSamples = before + end - from;
    const word = this.#words.word(number);
    if (word && before < word.samples && this.#wordSamples >= word.samples)
      this.#reply(replyId).words.push(word.text);
    return end;
  }
}
