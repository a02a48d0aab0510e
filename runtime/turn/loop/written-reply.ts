/**
 * A reply that is only written to the client (`audio: false`): it passes the same gates as a spoken one and
 * counts as heard once shown.
 */
import type { AgentEvent } from '#protocol/session-events.ts';
import type { TurnFact } from '../machine/turn-inputs.ts';
import type { HeardText } from './heard.ts';
import type { Piece } from './piece-cutter.ts';

/** Options of a written reply. */
interface WrittenReplyOptions {
  readonly replyId: string;
  readonly accept: (fact: TurnFact) => void;
  readonly event: (event: AgentEvent) => void;
  readonly onFailed: (error: unknown) => void;
}

/** One written reply. */
export class WrittenReply {
  readonly #options: WrittenReplyOptions;
  readonly #abort = new AbortController();
  readonly hasBeenSent = false;
  #text = '';
  #isComplete = false;
  #isShown = false;
  #isOver = false;

  constructor(options: WrittenReplyOptions) {
    this.#options = options;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Pieces that arrive together are shown together; each update carries the whole text. */
  add(...pieces: readonly Piece[]): void {
    if (pieces.length === 0) return;
    this.#text = [...(this.#text === '' ? [] : [this.#text]), ...pieces.map(({ text }) => text)].join(' ');
    this.#show();
  }

  complete(): void {
    this.#isComplete = true;
    this.#show();
  }

  /** The rest cannot be written. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onFailed(error);
  }

  commit(): void {
    // A written reply prepares nothing ahead.
  }

  play(): void {
    this.#isShown = true;
    this.#show();
  }

  holdBack(): void {
    this.#isShown = false;
  }

  stop(): void {
    this.#abort.abort(new Error('the reply was discarded'));
    this.#isOver = true;
  }

  heardAt(): HeardText {
    return { text: this.#isShown ? this.#text : '', isExact: true };
  }

  #show(): void {
    if (!this.#isShown || this.#isOver || this.#text === '') return;
    const { accept, event, replyId } = this.#options;
    event({
      type: 'transcript',
      role: 'agent',
      segmentId: replyId,
      text: this.#text,
      final: this.#isComplete,
    });
    if (!this.#isComplete) return;
    this.#isOver = true;
    accept({ type: 'reply.audible', replyId });
    accept({ type: 'playout.finished', replyId, heard: this.#text });
  }
}
