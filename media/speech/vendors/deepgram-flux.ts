/**
 * Live recognition by Deepgram's Flux models over a WebSocket (`/v2/listen`): turns with interim words, ended
 * by the vendor or by `ForceEndTurn`. The vendor does not answer a `ForceEndTurn` outside a turn, and ends a
 * turn on what it has transcribed so far. So the wait for an answer is limited, and words that begin while it
 * lasts are asked for again.
 *
 * Source: Deepgram's reference "Turn-based Audio (Flux)", and its guide "Force End Turn".
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { SampleBlocks } from '../audio/sample-blocks.ts';
import { PendingFinalises } from '../pending-finalises.ts';
import {
  type RecognitionEvent,
  type RecognitionOptions,
  type RecognitionStream,
  type Recognizer,
  SpeechError,
} from '../speech.ts';
import { socketUrl, VendorSocket } from './connection/vendor-socket.ts';
import { VoiceProgress } from './connection/voice-progress.ts';
import { authorization, MULTILINGUAL } from './deepgram-access.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** The vendor asks for messages of this length. */
const MESSAGE_MS = 80;
/** Longest wait for the end of a turn with words, or for any reaction to speech. */
const FINALISE_TIMEOUT_MS = 2_000;
/** Longest wait for words when none have arrived. */
const UNHEARD_TIMEOUT_MS = 600;
const ENGLISH_ONLY = 'flux-general-en';
const MULTILINGUAL_MODEL = 'flux-general-multi';

const turnInfo = z.object({
  type: z.literal('TurnInfo'),
  /** `Update`, `StartOfTurn`, `EndOfTurn`; the vendor may add more. */
  event: z.string(),
  turn_index: z.number(),
  /** Seconds since the start of the stream, here and below. */
  audio_window_start: z.number(),
  audio_window_end: z.number(),
  transcript: z.string(),
  words: z.array(z.object({ start: z.number().nullish(), end: z.number().nullish() })),
  languages: z.array(z.string()).nullish(),
});
type TurnInfo = z.output<typeof turnInfo>;
const failure = z.object({ type: z.literal('Error'), code: z.string(), description: z.string().nullish() });
const message = z.discriminatedUnion('type', [turnInfo, failure]);

/** True for a model of the Flux family, which is served at another address with another protocol. */
export function isFluxModel(model: string): boolean {
  return model.startsWith('flux-');
}

/** Creates the recogniser of one of Deepgram's Flux models. It is live only. */
export function createFluxRecognizer(model: string, options: SpeechVendorOptions): Recognizer {
  return {
    id: `deepgram:${model}`,
    givesInterims: true,
    expectedFinalMs: 300,
    open: (recognition) =>
      new FluxStream(listenUrl(options.baseUrl, model, recognition), options, recognition),
  };
}

function listenUrl(baseUrl: string, chosen: string, recognition: RecognitionOptions): URL {
  const { language, multilingual, keyterms, sampleRateHz } = recognition;
  // The English model recognises only English.
  const model = chosen === ENGLISH_ONLY && (multilingual || language !== 'en') ? MULTILINGUAL_MODEL : chosen;
  // Any other model refuses a hint.
  const isSteered = model === MULTILINGUAL_MODEL && !multilingual && MULTILINGUAL.has(language);
  return socketUrl(baseUrl, '/v2/listen', {
    model,
    language_hint: isSteered ? language : undefined,
    encoding: 'linear16',
    sample_rate: String(sampleRateHz),
    keyterm: keyterms,
  });
}

class FluxStream implements RecognitionStream {
  readonly #socket: VendorSocket;
  readonly #onEvent: (event: RecognitionEvent) => void;
  readonly #blocks: SampleBlocks;
  readonly #finalises: PendingFinalises;
  readonly #progress: VoiceProgress;
  /** Audio was sent since the last finalise. */
  #hasUnsettledAudio = false;
  /** A turn with words and without an end. */
  #isTurnOpen = false;
  #lastFinalTurn = -1;

  constructor(url: URL, options: SpeechVendorOptions, recognition: RecognitionOptions) {
    const { clock } = options;
    const { sampleRateHz } = recognition;
    this.#onEvent = recognition.onEvent;
    this.#blocks = new SampleBlocks((sampleRateHz * MESSAGE_MS) / 1_000);
    this.#finalises = new PendingFinalises({
      clock,
      timeoutMs: () => (this.#isTurnOpen || this.#progress.isOwed ? FINALISE_TIMEOUT_MS : UNHEARD_TIMEOUT_MS),
      onTimeout: () => this.#onAnswerTimeout(),
      onFinalised: () => this.#onEvent({ type: 'finalised' }),
      isOver: () => this.#socket.isOver,
    });
    this.#progress = new VoiceProgress({
      clock,
      sampleRateHz,
      onStall: () => this.#socket.fail(new SpeechError('stalled', 'Flux accepts speech and returns nothing')),
    });
    this.#socket = new VendorSocket({ vendor: 'Deepgram', url, headers: authorization(options), clock });
    this.#socket.listener = {
      onOpen: () => this.#progress.opened(),
      onText: (text) => this.#received(text),
      onFailed: (error) => {
        this.#stop();
        this.#onEvent({ type: 'failed', error });
      },
    };
  }

  write(samples: Int16Array): void {
    if (this.#socket.isOver) return;
    this.#hasUnsettledAudio = true;
    this.#progress.wrote(samples);
    this.#blocks.write(samples, this.#sendAudio);
  }

  finalise(): void {
    if (this.#socket.isOver) return;
    if (!this.#hasUnsettledAudio) {
      this.#finalises.share();
      return;
    }
    this.#hasUnsettledAudio = false;
    this.#finalises.add();
    this.#blocks.flush(this.#sendAudio);
    this.#endTurn();
  }

  close(): void {
    this.#stop();
    this.#socket.close(JSON.stringify({ type: 'CloseStream' }));
  }

  /** A copy: the block is reused, and the socket sends later. */
  readonly #sendAudio = (samples: Int16Array): void => this.#socket.send(Buffer.from(samples.slice().buffer));

  #endTurn(): void {
    this.#socket.send(JSON.stringify({ type: 'ForceEndTurn' }));
  }

  #received(text: string): void {
    const received = parseJson(message, text);
    if (received?.type === 'TurnInfo') this.#heard(received);
    if (received?.type !== 'Error') return;
    const { code, description } = received;
    this.#socket.fail(new SpeechError('unavailable', `Deepgram reported ${code}: ${description ?? ''}`));
  }

  #heard(heard: TurnInfo): void {
    this.#progress.answered();
    // A turn is settled once, whatever arrives for it later.
    if (heard.turn_index <= this.#lastFinalTurn) return;
    if (heard.event === 'EndOfTurn') {
      this.#settle(heard);
      return;
    }
    const text = heard.transcript.trim();
    if (text === '') return;
    this.#onEvent({ type: 'interim', text });
    // A listener may have closed the stream.
    if (this.#isTurnOpen || this.#socket.isOver) return;
    this.#isTurnOpen = true;
    if (this.#finalises.isEmpty) return;
    this.#finalises.restartTimeout();
    this.#endTurn();
  }

  #settle(ended: TurnInfo): void {
    this.#isTurnOpen = false;
    this.#lastFinalTurn = ended.turn_index;
    const text = ended.transcript.trim();
    if (text !== '')
      this.#onEvent({ type: 'final', text, ...times(ended), language: ended.languages?.[0] ?? null });
    // A listener may have closed the stream.
    if (!this.#finalises.isEmpty && !this.#socket.isOver) this.#finalises.answered();
  }

  #onAnswerTimeout(): void {
    if (!this.#isTurnOpen && !this.#progress.isOwed) this.#finalises.answered();
    else this.#socket.fail(new SpeechError('stalled', 'Deepgram did not answer ForceEndTurn'));
  }

  #stop(): void {
    this.#progress.cancel();
    this.#finalises.cancel();
  }
}

/** From the words, or from the audio of the turn if they carry no times. */
function times({ words, audio_window_start, audio_window_end }: TurnInfo): {
  startMs: number;
  endMs: number;
} {
  return {
    startMs: Math.round((words[0]?.start ?? audio_window_start) * 1_000),
    endMs: Math.round((words.at(-1)?.end ?? audio_window_end) * 1_000),
  };
}
