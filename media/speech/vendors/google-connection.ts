/**
 * One connection to Google's live recognition (`StreamingRecognize`): each turn is a call on it, which the
 * end of its audio settles.
 *
 * Source: google/cloud/speech/v1/cloud_speech.proto, and Google's page "Quotas and limits".
 */
import type { Clock } from '#base/clock.ts';
import { SpeechError, type SpeechErrorCategory } from '../speech.ts';
import { type GrpcCall, GrpcSession, type GrpcStatus } from './connection/grpc-session.ts';
import type { TurnConnection, TurnEvent } from './connection/turn-stream.ts';
import { GOOGLE_KEY_ADVICE, type GoogleCredentials } from './google-access.ts';
import { audioRequest, configRequest, type GoogleConfig, readAnswer } from './google-messages.ts';

const METHOD = '/google.cloud.speech.v1.Speech/StreamingRecognize';
/** The vendor ends a call after five minutes. */
const TURN_LIFE_MS = 240_000;

const OK = 0;
const INVALID_ARGUMENT = 3;
/** Meaning of gRPC's status codes; all others are `unavailable`. */
const CATEGORIES: Readonly<Record<number, SpeechErrorCategory>> = {
  [INVALID_ARGUMENT]: 'bad_request',
  4: 'stalled',
  5: 'bad_request',
  7: 'authentication',
  8: 'overloaded',
  9: 'bad_request',
  // A call that was too long, or had no audio for too long.
  10: 'connectivity',
  11: 'connectivity',
  12: 'bad_request',
  14: 'overloaded',
  16: 'authentication',
};

/** How to connect, and what to ask for. */
export interface GoogleConnectionOptions {
  readonly url: string;
  readonly credentials: GoogleCredentials;
  readonly config: GoogleConfig;
  readonly clock: Clock;
  readonly onEvent: (event: TurnEvent) => void;
}

/** A connection; connects at once. */
export class GoogleConnection implements TurnConnection {
  readonly #options: GoogleConnectionOptions;
  readonly #session: GrpcSession;
  #turn: { readonly call: GrpcCall; readonly startedAtMs: number } | null = null;

  constructor(options: GoogleConnectionOptions) {
    const { url, clock, onEvent } = options;
    this.#options = options;
    this.#session = new GrpcSession({
      vendor: 'Google',
      url,
      clock,
      keyAdvice: GOOGLE_KEY_ADVICE,
      onOpen: () => onEvent({ type: 'opened' }),
      onFailed: (error) => onEvent({ type: 'failed', error }),
    });
  }

  get isInTurn(): boolean {
    return this.#turn !== null;
  }

  get isOld(): boolean {
    return this.#turn !== null && this.#options.clock.now() - this.#turn.startedAtMs > TURN_LIFE_MS;
  }

  get isSpent(): boolean {
    return this.#session.isLeaving;
  }

  send(samples: Int16Array): void {
    const call = this.#turn?.call ?? this.#begin();
    call?.send(audioRequest(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)));
  }

  endTurn(): void {
    this.#turn?.call.end();
  }

  fail(error: SpeechError): void {
    this.#session.fail(error);
  }

  close(): void {
    this.#session.close();
  }

  #begin(): GrpcCall | null {
    const { clock, config, credentials } = this.#options;
    let headers: Record<string, string>;
    try {
      headers = credentials.headers();
    } catch (error) {
      // Never from within the caller's own call.
      queueMicrotask(() => this.fail(error as SpeechError));
      return null;
    }
    const call = this.#session.call(METHOD, headers, {
      onMessage: (message) => this.#received(message),
      onEnd: (status) => this.#ended(status),
    });
    this.#turn = { call, startedAtMs: clock.now() };
    call.send(configRequest(config));
    return call;
  }

  #received(bytes: Uint8Array): void {
    const answer = readAnswer(bytes);
    if (!answer) {
      this.fail(new SpeechError('unavailable', 'Google sent a message that is not in the protocol'));
      return;
    }
    if (answer.error) {
      this.fail(errorOf(answer.error));
      return;
    }
    const { onEvent } = this.#options;
    onEvent({ type: 'reacted' });
    for (const { text, startMs, endMs } of answer.results.filter(({ isFinal }) => isFinal))
      onEvent({ type: 'phrase', text, startMs, endMs, language: null });
    // The vendor cuts what may still change into pieces.
    const interim = answer.results.filter(({ isFinal }) => !isFinal).map(({ text }) => text);
    if (interim.some((text) => text !== '')) onEvent({ type: 'interim', text: interim.join(' ').trim() });
  }

  #ended(status: GrpcStatus): void {
    this.#turn = null;
    if (status.code === OK) this.#options.onEvent({ type: 'turn-ended' });
    else this.fail(errorOf(status));
  }
}

function errorOf({ code, message }: GrpcStatus): SpeechError {
  // A wrong API key is an invalid argument here.
  const isKey = code === INVALID_ARGUMENT && message.includes('API key');
  const category = isKey ? 'authentication' : (CATEGORIES[code] ?? 'unavailable');
  const advice = category === 'authentication' ? `: ${GOOGLE_KEY_ADVICE}` : '';
  return new SpeechError(category, `Google reported the status ${code}, “${message.slice(0, 200)}”${advice}`);
}
