/**
 * One WebSocket to a recogniser that speaks the custom speech API of jambonz: `start`, the audio, `stop`, and
 * transcriptions in between and after it, until the server closes it. Its results can be held back while an
 * older connection still has some.
 */
import { z } from 'zod';
import type { Clock, Timer } from '#base/clock.ts';
import { parseJson } from '#base/parse-json.ts';
import { TokenBucket } from '#base/token-bucket.ts';
import { SpeechError } from '../speech.ts';
import { VendorSocket, type VendorSocketOptions } from '../vendors/connection/vendor-socket.ts';

/** Most bytes of one message: a minute of speech is a thousand. */
const MAX_MESSAGE_BYTES = 32 * 1_024;
const MAX_TEXT_CHARS = 5_000;
const MAX_ALTERNATIVES = 32;
/** Messages of any kind accepted at once, and in each second after that. */
const MESSAGES = { burst: 200, perSecond: 50 };
/** The same for bytes, which count frames without a message, too. */
const BYTES = { burst: 2 ** 20, perSecond: 128 * 1_024 };
/** Most results held back. */
const MAX_HELD = 50;
/** The server may have several final results after `stop`; after this pause it has none, ms. */
const LAST_FINAL_MS = 250;
/** A final result belongs to all the voice before it, if the last of it was sent this long ago, ms. */
const SETTLED_AFTER_MS = 200;
/** Close codes of a server that has finished; 1005 is a close without one (RFC 6455 §7.4). */
const FINISHED = [1_000, 1_001, 1_005];

const NOT_IN_PROTOCOL = 'sent a message that is not in the protocol';
const STOP = JSON.stringify({ type: 'stop' });

const kind = z.object({ type: z.string() });
const transcription = z.object({
  is_final: z.boolean(),
  alternatives: z.array(z.object({ transcript: z.string().max(MAX_TEXT_CHARS) })).max(MAX_ALTERNATIVES),
  language: z.string().max(35).nullish(),
});
const problem = z.object({ error: z.string() });

/** What a connection reports, in order; the last is `done` or `failed`. */
export type ConnectionEvent =
  | { readonly type: 'interim'; readonly text: string }
  | { readonly type: 'final'; readonly text: string; readonly language: string | null }
  /** The server has no more results of this connection. */
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly error: SpeechError };

/** How to connect, and to what. */
export interface ConnectionOptions {
  readonly socket: Omit<VendorSocketOptions, 'categoryOfClose' | 'maxMessageBytes' | 'admits' | 'clock'>;
  readonly clock: Clock;
  /** The first message. */
  readonly start: object;
  readonly onEvent: (event: ConnectionEvent) => void;
}

/** A connection; connects at once. */
export class JambonzConnection {
  readonly #options: ConnectionOptions;
  readonly #socket: VendorSocket;
  /** Null once its results may be reported. */
  #held: ConnectionEvent[] | null = [];
  readonly #sent = { hasAudio: false, isAccepted: false };
  readonly #voice = { ms: 0, isUnsettled: false, atMs: 0 };
  /** The last result that is not final yet. */
  #interim = '';
  readonly #stop = { isSent: false, hasAnswer: false, hasFinal: false };
  #closeCode = 0;
  #lastFinal: Timer | null = null;

  constructor(options: ConnectionOptions) {
    const { clock, socket, start } = options;
    this.#options = options;
    const messages = new TokenBucket(clock, MESSAGES);
    const bytes = new TokenBucket(clock, BYTES);
    this.#socket = new VendorSocket({
      ...socket,
      clock,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      admits: (read) => messages.tryTake(read.messages) && bytes.tryTake(read.bytes),
      categoryOfClose: (code) => {
        this.#closeCode = code;
        return null;
      },
    });
    this.#socket.listener = {
      onOpen: () => {
        this.#sent.isAccepted = true;
      },
      onText: (text) => this.#received(text),
      onFailed: (error) => this.#closed(error),
    };
    this.#socket.send(JSON.stringify(start));
  }

  get isStopped(): boolean {
    return this.#stop.isSent;
  }

  /**
   * Voice was sent, or words were heard, since the last final result; or the server has not even accepted the
   * connection for the audio.
   */
  get isUnsettled(): boolean {
    const isWaiting = this.#sent.hasAudio && !this.#sent.isAccepted;
    return this.#voice.isUnsettled || this.#interim !== '' || isWaiting;
  }

  /** The server has reacted to `stop`. */
  get hasAnswered(): boolean {
    return this.#stop.hasAnswer;
  }

  /** Voice sent since the last final result, ms. */
  get unsettledVoiceMs(): number {
    return this.#voice.ms;
  }

  /** Sends samples; `voiceMs` of them may be speech. */
  write(samples: Buffer, voiceMs: number): void {
    this.#sent.hasAudio = true;
    if (voiceMs > 0) {
      this.#voice.ms += voiceMs;
      this.#voice.isUnsettled = true;
      this.#voice.atMs = this.#options.clock.now();
    }
    this.#socket.send(samples);
  }

  /** Asks for the final results of everything sent. */
  stop(): void {
    this.#stop.isSent = true;
    this.#socket.send(STOP);
  }

  /** Reports the results held so far, and from now on each as it arrives. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const event of held) this.#options.onEvent(event);
  }

  /** Ends the connection with the results that it has. */
  finish(): void {
    if (this.#interim !== '') this.#report({ type: 'final', text: this.#interim, language: null });
    this.#interim = '';
    this.close();
    this.#report({ type: 'done' });
  }

  /** Closes it; nothing is reported any more, except by `finish`. */
  close(): void {
    this.#lastFinal?.cancel();
    this.#socket.close(this.#stop.isSent ? undefined : STOP);
  }

  #received(text: string): void {
    this.#stop.hasAnswer ||= this.#stop.isSent;
    const type = parseJson(kind, text)?.type;
    if (type === 'transcription') this.#heard(parseJson(transcription, text));
    else if (type === 'error') {
      const message = parseJson(problem, text)?.error.slice(0, 200) ?? '';
      this.#fail(`reported an error: ${message}`);
    } else if (type === undefined) this.#fail(NOT_IN_PROTOCOL);
  }

  #heard(heard: z.output<typeof transcription> | null): void {
    const text = heard?.alternatives[0]?.transcript.trim() ?? '';
    if (heard === null) this.#fail(NOT_IN_PROTOCOL);
    else if (heard.is_final) this.#heardFinal(text, heard.language ?? null);
    else if (text !== '') {
      this.#interim = text;
      this.#report({ type: 'interim', text });
    }
  }

  #heardFinal(text: string, language: string | null): void {
    this.#interim = '';
    if (this.#options.clock.now() - this.#voice.atMs >= SETTLED_AFTER_MS) {
      this.#voice.ms = 0;
      this.#voice.isUnsettled = false;
    }
    if (text !== '') this.#report({ type: 'final', text, language });
    if (this.#stop.isSent) this.#awaitMore();
  }

  #awaitMore(): void {
    this.#stop.hasFinal = true;
    this.#lastFinal?.cancel();
    this.#lastFinal = this.#options.clock.after(LAST_FINAL_MS, () => this.finish());
  }

  #closed(error: SpeechError): void {
    this.#lastFinal?.cancel();
    const hasFinished = this.#stop.hasFinal || FINISHED.includes(this.#closeCode);
    if (this.#stop.isSent && hasFinished) this.finish();
    else this.#report({ type: 'failed', error });
  }

  #fail(what: string): void {
    this.#closeCode = 0;
    this.#stop.hasFinal = false;
    this.#socket.fail(new SpeechError('unavailable', `${this.#options.socket.vendor} ${what}`));
  }

  #report(event: ConnectionEvent): void {
    if (!this.#held) {
      this.#options.onEvent(event);
      return;
    }
    // An interim result replaces the one before it.
    if (event.type === 'interim' && this.#held.at(-1)?.type === 'interim') this.#held.pop();
    const isTooMuch = this.#held.length >= MAX_HELD && (event.type === 'interim' || event.type === 'final');
    if (isTooMuch) this.#fail('sends too many results');
    else this.#held.push(event);
  }
}
