/**
 * One WebSocket to Azure's recogniser: turns, each with its own request id, its audio and the phrases in it.
 * The vendor forgets a turn as soon as audio of another one arrives, so the next begins after `turn.end`.
 *
 * Source: Microsoft's page "Speech Service WebSocket protocol"; `speech.context`, and the fields of its
 * phrase list, as in Microsoft's open Speech SDK for JavaScript.
 */
import { z } from 'zod';
import type { Clock } from '#base/clock.ts';
import { parseJson } from '#base/parse-json.ts';
import { wavHeader } from '../audio/wav.ts';
import { SpeechError, type SpeechErrorCategory } from '../speech.ts';
import { AZURE_KEY_ADVICE } from './azure-access.ts';
import { type AzureMessage, audioMessage, readMessage, textMessage } from './azure-messages.ts';
import { AzureTurn, newId } from './azure-turn.ts';
import type { TurnConnection, TurnEvent } from './connection/turn-stream.ts';
import { VendorSocket } from './connection/vendor-socket.ts';

/** 100 ns, the vendor's unit of time. */
const TICKS_PER_MS = 10_000;
const STREAM_LENGTH_UNKNOWN = 0;
/** The vendor ends a connection after ten minutes. */
const LIFE_MS = 540_000;
const CLOSE_CATEGORIES: Readonly<Record<number, SpeechErrorCategory>> = {
  1002: 'bad_request',
  1003: 'bad_request',
  1007: 'bad_request',
  4429: 'overloaded',
};
/** A phrase with one of these ends the recognition; any other status is a phrase without words. */
const FAILED_PHRASES: Readonly<Record<string, SpeechErrorCategory>> = {
  Error: 'unavailable',
  BadRequest: 'bad_request',
  TooManyRequests: 'overloaded',
  Forbidden: 'quota',
};

/** Describes the program: the vendor requires these fields. */
const CONFIG = {
  context: {
    system: { name: 'Parley', version: '1.0.0', build: 'Node', lang: 'TypeScript' },
    os: { platform: 'Linux', name: 'Parley', version: '1.0.0' },
    device: { manufacturer: 'Parley', model: 'Parley', version: '1.0.0' },
  },
};

const hypothesis = z.object({ Text: z.string() });
const phrase = z.object({
  RecognitionStatus: z.string(),
  DisplayText: z.string().nullish(),
  Offset: z.number().nullish(),
  Duration: z.number().nullish(),
});

/** How to connect. */
export interface AzureConnectionOptions {
  readonly url: URL;
  /** With the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** Rate of the audio, Hz. */
  readonly rateHz: number;
  readonly keyterms: readonly string[];
  readonly clock: Clock;
  readonly onEvent: (event: TurnEvent) => void;
}

/** A connection; connects at once. */
export class AzureConnection implements TurnConnection {
  readonly #options: AzureConnectionOptions;
  readonly #socket: VendorSocket;
  readonly #id = newId();
  readonly #startedAtMs: number;
  readonly #startedAt: number;
  #openedAt: number | null = null;
  #hasTold = false;
  #turn: AzureTurn | null = null;

  constructor(options: AzureConnectionOptions) {
    const { url, headers, clock, onEvent } = options;
    this.#options = options;
    this.#startedAtMs = clock.now();
    this.#startedAt = clock.wallTime();
    this.#socket = new VendorSocket({
      vendor: 'Azure',
      url,
      headers: { ...headers, 'x-connectionid': this.#id },
      clock,
      keyAdvice: AZURE_KEY_ADVICE,
      categoryOfClose: (code) => CLOSE_CATEGORIES[code] ?? null,
    });
    this.#socket.listener = {
      onOpen: () => {
        this.#openedAt = clock.wallTime();
        onEvent({ type: 'opened' });
      },
      onText: (text) => this.#received(readMessage(text)),
      onFailed: (error) => onEvent({ type: 'failed', error }),
    };
    this.#sendText('speech.config', newId(), CONFIG);
  }

  get isInTurn(): boolean {
    return this.#turn !== null;
  }

  get isOld(): boolean {
    return this.isInTurn && this.isSpent;
  }

  get isSpent(): boolean {
    return this.#options.clock.now() - this.#startedAtMs > LIFE_MS;
  }

  send(samples: Int16Array): void {
    const turn = this.#turn ?? this.#begin();
    this.#sendAudio(turn, new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
  }

  endTurn(): void {
    if (!this.#turn || this.#turn.isEnding) return;
    this.#turn.isEnding = true;
    this.#sendAudio(this.#turn, new Uint8Array(0));
  }

  fail(error: SpeechError): void {
    this.#socket.fail(error);
  }

  close(): void {
    this.#socket.close();
  }

  #begin(): AzureTurn {
    const { clock, keyterms, rateHz } = this.#options;
    const turn = new AzureTurn(clock.wallTime());
    this.#turn = turn;
    this.#sendText('speech.context', turn.requestId, contextOf(keyterms));
    this.#sendAudio(turn, wavHeader(rateHz, STREAM_LENGTH_UNKNOWN));
    return turn;
  }

  #sendAudio({ requestId }: AzureTurn, audio: Uint8Array): void {
    this.#socket.send(audioMessage({ requestId, sentAt: this.#options.clock.wallTime() }, audio));
  }

  #sendText(path: string, requestId: string, body: object): void {
    this.#socket.send(textMessage({ path, requestId, sentAt: this.#options.clock.wallTime() }, body));
  }

  #received(message: AzureMessage | null): void {
    const turn = this.#turn;
    // Late messages of an earlier turn carry its id.
    if (!message || !turn || message.requestId !== turn.requestId) return;
    turn.received(message.path, this.#options.clock.wallTime());
    switch (message.path) {
      case 'speech.hypothesis':
      case 'speech.fragment': {
        const text = parseJson(hypothesis, message.body)?.Text.trim() ?? '';
        this.#report(text === '' ? { type: 'reacted' } : { type: 'interim', text });
        return;
      }
      case 'speech.phrase':
        this.#heard(parseJson(phrase, message.body));
        return;
      case 'speech.startdetected':
      case 'speech.enddetected':
        this.#report({ type: 'reacted' });
        return;
      case 'turn.end':
        this.#turn = null;
        this.#acknowledge(turn);
        this.#report({ type: 'turn-ended' });
        return;
    }
  }

  #heard(heard: z.output<typeof phrase> | null): void {
    const status = heard?.RecognitionStatus ?? 'NoMatch';
    const category = FAILED_PHRASES[status];
    if (category) {
      this.fail(new SpeechError(category, `Azure reported ${status}`));
      return;
    }
    const text = status === 'Success' ? (heard?.DisplayText?.trim() ?? '') : '';
    const startMs = msOf(heard?.Offset);
    const durationMs = msOf(heard?.Duration);
    const endMs = startMs === null || durationMs === null ? null : startMs + durationMs;
    this.#report({ type: 'phrase', text, startMs, endMs, language: null });
  }

  /** The vendor may close a connection whose turns are not acknowledged. */
  #acknowledge(turn: AzureTurn): void {
    const now = this.#options.clock.wallTime();
    const opened =
      this.#hasTold || this.#openedAt === null
        ? null
        : { id: this.#id, startedAt: this.#startedAt, openedAt: this.#openedAt };
    this.#hasTold = true;
    this.#sendText('telemetry', turn.requestId, turn.telemetry(now, opened));
  }

  #report(event: TurnEvent): void {
    this.#options.onEvent(event);
  }
}

function contextOf(keyterms: readonly string[]): object {
  if (keyterms.length === 0) return {};
  return { dgi: { groups: [{ type: 'Generic', items: keyterms.map((text) => ({ text })) }], bias: 1 } };
}

function msOf(ticks: number | null | undefined): number | null {
  return ticks === null || ticks === undefined ? null : Math.round(ticks / TICKS_PER_MS);
}
