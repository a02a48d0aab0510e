/**
 * One reply on its way from text to the leg: its pieces are synthesised a few seconds ahead, held until the
 * turn is taken, and sent with a mark per word. They are kept, so that the heard text is known at any moment.
 */

import { RateConverter } from '#media/dsp/pcm.ts';
import type { LegCommand, PlayoutPosition } from '#media/leg/leg.ts';
import { type SpeechChunk, SpeechError, type Synthesizer } from '#media/speech/speech.ts';
import { nameless, type Within } from '../../event-loop/session-attribution.ts';
import { speakable } from '../text/speakable-text.ts';
import {
  addAudio,
  addWordTime,
  breakOffPiece,
  completePiece,
  createPiece,
  type HeardText,
  heardText,
  type VoicedPiece,
  type VoicePace,
  wholeText,
} from './heard.ts';
import type { Piece } from './piece-cutter.ts';

/** Audio synthesised beyond the playout position; an interruption would discard more. */
const AHEAD_MS = 4_000;
/**
 * Without a word end for this long, the leg reports its position anyway: if the leg is lost, that is the last
 * known one.
 */
const MARK_WITHIN_MS = 300;
/** Shared: every reply ends with it, and capturing a stack would be the most expensive part. */
const GIVEN_UP = new Error('the reply was discarded');

/** Options of a spoken reply. */
export interface SpokenReplyOptions {
  readonly replyId: string;
  /** The same words are spoken in other calls. */
  readonly isFixed: boolean;
  readonly synthesizer: Synthesizer;
  readonly voice: {
    readonly voiceId: string | null;
    readonly language: string;
    readonly speed: number;
    readonly isExpressive?: boolean;
  };
  /** Known speed of the voice, refined by every complete piece. */
  readonly pace: VoicePace;
  readonly rateHz: number;
  readonly send: (command: LegCommand) => void;
  /** False while the call has no leg: audio waits until `resumeSending`. */
  readonly canSend: () => boolean;
  readonly onAudible: () => void;
  readonly onFailed: (error: unknown) => void;
  /** Ids of leg pieces, counted over the whole call. */
  readonly nextPieceId: () => number;
  /** Names the call whose text is being prepared. */
  readonly within?: Within | undefined;
}

interface QueuedAudio {
  readonly command: Extract<LegCommand, { do: 'play' }>;
  readonly durationMs: number;
}

/** Position of a leg piece, for resolving marks and positions. */
interface SentPiece {
  readonly rateHz: number;
  readonly marks: Int32Array;
}

/** The voice of one reply. */
export class SpokenReply {
  readonly replyId: string;
  readonly #options: SpokenReplyOptions;
  readonly #abort = new AbortController();
  /** Aborts when the reply ends, or earlier if the rest of it fails. */
  readonly #voicing = new AbortController();
  /**
   * Pieces being synthesised or done. Waiting pieces are kept as text, because most long replies are
   * discarded before their end.
   */
  readonly #pieces: VoicedPiece[] = [];
  readonly #waiting: Piece[] = [];
  readonly #queued: QueuedAudio[] = [];
  readonly #sent = new Map<number, SentPiece>();
  #isPlaying = false;
  #isSpeculative: boolean;
  #isSynthesising = false;
  #isComplete = false;
  #hasEnded = false;
  #hasAudio = false;
  #madeMs = 0;
  /** Position of the last mark, in ms from the start of the reply. */
  #markedMs = 0;
  #playedMs = 0;
  #lastMark: { legPieceId: number; offsetMs: number } | null = null;

  constructor(options: SpokenReplyOptions, isSpeculative: boolean) {
    this.replyId = options.replyId;
    this.#options = options;
    this.#isSpeculative = isSpeculative;
  }

  /** Aborts when the reply ends; also tied to the model's stream. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** True once any audio was sent to the leg. */
  get hasBeenSent(): boolean {
    return this.#sent.size > 0;
  }

  /** True once it has audio: from then on it is played as far as it goes, even if its text fails. */
  get isAudible(): boolean {
    return this.#hasAudio;
  }

  /** Appends pieces of text. Pieces after a failed one are never spoken. */
  add(...pieces: readonly Piece[]): void {
    if (this.#isComplete) return;
    this.#waiting.push(...pieces);
    this.#work();
  }

  /** No more text follows. */
  complete(): void {
    this.#isComplete = true;
    this.#work();
  }

  /** The rest of the text failed: the reply ends with its audio so far, or is discarded without any. */
  fail(error: unknown): void {
    if (this.#voicing.signal.aborted) return;
    const last = this.#pieces.at(-1);
    if (last && !last.isComplete) breakOffPiece(last);
    this.#isSynthesising = false;
    this.#onFailed(error);
    if (this.#hasAudio) this.#work();
    else this.stop();
  }

  /** The turn is taken: pieces after the first may be synthesised. */
  commit(): void {
    this.#isSpeculative = false;
    this.#work();
  }

  /** Sends audio to the leg from now on. */
  play(): void {
    this.#isPlaying = true;
    this.#flush();
  }

  /** A leg is back. */
  resumeSending(): void {
    this.#flush();
  }

  /** Undoes `play`; audio already on the leg stays there. */
  holdBack(): void {
    this.#isPlaying = false;
  }

  /** Stops everything; no more audio reaches the leg. */
  stop(): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort(GIVEN_UP);
    this.#voicing.abort(GIVEN_UP);
    this.#waiting.length = 0;
    this.#queued.length = 0;
    this.#hasEnded = true;
  }

  /** A word was sent on the wire. Returns the text heard so far. */
  onMark(legPieceId: number, mark: number): HeardText {
    const sent = this.#sent.get(legPieceId);
    const samples = sent?.marks[mark] ?? 0;
    this.#lastMark = { legPieceId, offsetMs: sent ? (samples * 1_000) / sent.rateHz : 0 };
    this.#playedMs = this.#msUpTo(this.#lastMark);
    this.#work();
    return heardText(this.#pieces, this.#lastMark);
  }

  /** The text heard when playout stopped at `position`; null means at the last mark. */
  heardAt(position: PlayoutPosition | null): HeardText {
    if (!position) return heardText(this.#pieces, this.#lastMark);
    const rateHz = this.#sent.get(position.pieceId)?.rateHz;
    if (rateHz === undefined) return { text: '', isExact: true };
    return heardText(this.#pieces, {
      legPieceId: position.pieceId,
      offsetMs: (position.sample * 1_000) / rateHz,
    });
  }

  /** All text that was synthesised. */
  get wholeText(): string {
    return wholeText(this.#pieces);
  }

  #msUpTo(position: { legPieceId: number; offsetMs: number }): number {
    let ms = 0;
    for (const { chunks } of this.#pieces)
      for (const chunk of chunks) if (chunk.legPieceId < position.legPieceId) ms += chunk.durationMs;
    return ms + position.offsetMs;
  }

  /** Synthesises the next piece if there is one, there is room for it, and it is allowed. */
  #work(): void {
    if (this.#isSynthesising || this.#abort.signal.aborted) return;
    const mayContinue = this.#madeMs - this.#playedMs < AHEAD_MS && !(this.#isSpeculative && this.#hasAudio);
    const piece = mayContinue ? this.#waiting.shift() : undefined;
    if (piece) {
      this.#isSynthesising = true;
      void this.#synthesise(piece).finally(() => {
        this.#isSynthesising = false;
        this.#work();
      });
    } else this.#flush();
  }

  #createPiece({ text, emotion }: Piece): VoicedPiece {
    const { pace, synthesizer, voice } = this.#options;
    const speech = speakable(text, { language: voice.language, needsWords: synthesizer.needsWords === true });
    const piece = createPiece(text, speech, pace, voice.isExpressive === true ? emotion : null);
    this.#pieces.push(piece);
    return piece;
  }

  async #synthesise(piece: Piece): Promise<void> {
    try {
      // Awaited, so that a piece whose text cannot be prepared fails after `add` has returned, like any
      // other.
      await this.#synthesiseWithRetry(piece);
    } catch (error) {
      if (!this.#voicing.signal.aborted) this.#onFailed(error);
    }
  }

  /** Prepares the text of a piece and synthesises it. Rejects on failure. */
  async #synthesiseWithRetry(next: Piece): Promise<void> {
    const { pace, within = nameless } = this.#options;
    const piece = within(() => this.#createPiece(next));
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#voice(piece);
        if (this.#voicing.signal.aborted) return;
        completePiece(piece);
        pace.learn(piece);
        return;
      } catch (error) {
        if (this.#voicing.signal.aborted) return;
        const mayRetry =
          attempt === 1 && piece.chunks.length === 0 && (!(error instanceof SpeechError) || error.retryable);
        if (mayRetry) continue;
        breakOffPiece(piece);
        throw error;
      }
    }
  }

  /** Everything before the failed piece has been spoken: the reply ends here. */
  #onFailed(error: unknown): void {
    this.#voicing.abort(GIVEN_UP);
    this.#waiting.length = 0;
    this.#isComplete = true;
    this.#options.onFailed(error);
  }

  async #voice(piece: VoicedPiece): Promise<void> {
    const { voice, isFixed, rateHz, synthesizer } = this.#options;
    const converter = new RateConverter(rateHz);
    for await (const chunk of synthesizer.synthesise(piece.spoken, {
      ...voice,
      emotion: piece.emotion,
      isFixed,
      replyId: this.replyId,
      sampleRateHz: rateHz,
      signal: this.#voicing.signal,
    })) {
      if (this.#voicing.signal.aborted) return;
      const samples = converter.convert(chunk.samples, chunk.sampleRateHz);
      if (samples.length > 0) this.#append(piece, samples, chunk.words);
    }
  }

  #append(piece: VoicedPiece, samples: Int16Array, words: SpeechChunk['words']): void {
    const { rateHz, nextPieceId, onAudible } = this.#options;
    const startMs = piece.chunks.reduce((sum, { durationMs }) => sum + durationMs, 0);
    const durationMs = (samples.length * 1_000) / rateHz;
    const legPieceId = nextPieceId();
    for (const word of words ?? []) addWordTime(piece, word.textEnd, word.endMs);
    addAudio(piece, legPieceId, samples, rateHz);
    const ends = marksWithin(piece.endsMs, startMs, durationMs, rateHz);
    this.#madeMs += durationMs;
    const marks =
      ends.length === 0 && this.#madeMs - this.#markedMs >= MARK_WITHIN_MS
        ? Int32Array.of(samples.length)
        : ends;
    if (marks.length > 0) this.#markedMs = this.#madeMs;
    this.#sent.set(legPieceId, { rateHz, marks });
    this.#queued.push({
      command: { do: 'play', replyId: this.replyId, pieceId: legPieceId, samples, marks, last: false },
      durationMs,
    });
    if (!this.#hasAudio) {
      this.#hasAudio = true;
      onAudible();
    }
    this.#flush();
  }

  #flush(): void {
    if (!this.#isPlaying || this.#abort.signal.aborted || !this.#options.canSend()) return;
    for (const { command } of this.#queued.splice(0)) this.#options.send(command);
    const isDone =
      this.#isComplete &&
      !this.#isSynthesising &&
      this.#waiting.length === 0 &&
      this.#hasAudio &&
      !this.#hasEnded;
    if (!isDone) return;
    this.#hasEnded = true;
    const end = {
      pieceId: this.#options.nextPieceId(),
      samples: new Int16Array(0),
      marks: new Int32Array(0),
    };
    // A leg paused at the very end stops here: all of it was heard.
    this.#sent.set(end.pieceId, { rateHz: this.#options.rateHz, marks: end.marks });
    this.#options.send({ do: 'play', replyId: this.replyId, ...end, last: true });
  }
}

function marksWithin(
  endsMs: readonly number[],
  startMs: number,
  durationMs: number,
  rateHz: number,
): Int32Array {
  const inside = endsMs.filter((endMs) => endMs > startMs && endMs <= startMs + durationMs + 0.001);
  return Int32Array.from(inside, (endMs) => Math.round(((endMs - startMs) * rateHz) / 1_000));
}
