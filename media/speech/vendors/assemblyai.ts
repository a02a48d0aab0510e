/**
 * Live recognition at AssemblyAI over a WebSocket (`/v3/ws`): turns with interim words, ended by the vendor
 * or by `ForceEndpoint`. The vendor does not answer a `ForceEndpoint` if nothing was said, so the wait for an
 * answer is limited.
 */
import { z } from 'zod';
import type { Clock, Timer } from '#base/clock.ts';
import { parseJson } from '#base/parse-json.ts';
import { SampleBlocks } from '../audio/sample-blocks.ts';
import { PendingFinalises } from '../pending-finalises.ts';
import {
  type RecognitionEvent,
  type RecognitionOptions,
  type RecognitionStream,
  type Recognizer,
  SpeechError,
  type SpeechErrorCategory,
} from '../speech.ts';
import { socketUrl, VendorSocket } from './connection/vendor-socket.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** The vendor refuses messages with less than 50 ms or more than a second of audio. */
const MESSAGE_MS = 60;
const MIN_MESSAGE_MS = 50;
/** Longest wait for the end of a turn with words. */
const FINALISE_TIMEOUT_MS = 2_000;
/** Longest wait for words when none have arrived. */
const UNHEARD_TIMEOUT_MS = 600;
/** The end of a turn is sent twice, plain and then with punctuation: longest wait for the second. */
const FORMATTED_TIMEOUT_MS = 500;
const ENGLISH_ONLY = 'universal-streaming-english';

const CLOSE_CATEGORIES: Readonly<Record<number, SpeechErrorCategory>> = {
  1008: 'authentication',
  3005: 'unavailable',
  3006: 'bad_request',
  3007: 'bad_request',
  3009: 'overloaded',
  4001: 'authentication',
  4002: 'quota',
  4003: 'quota',
  4029: 'overloaded',
  4102: 'overloaded',
};

const turn = z.object({
  type: z.literal('Turn'),
  turn_order: z.number(),
  end_of_turn: z.boolean(),
  turn_is_formatted: z.boolean(),
  transcript: z.string(),
  language_code: z.string().nullish(),
  words: z.array(z.object({ text: z.string(), start: z.number(), end: z.number() })),
});
type Turn = z.output<typeof turn>;
const failure = z.object({
  type: z.literal('Error'),
  error: z.string().optional(),
  error_code: z.number().optional(),
});
const message = z.discriminatedUnion('type', [turn, failure]);

/** Creates the recogniser of one of AssemblyAI's streaming models. */
export function createAssemblyaiRecognizer(model: string, options: SpeechVendorOptions): Recognizer {
  return {
    id: `assemblyai:${model}`,
    givesInterims: true,
    expectedFinalMs: 500,
    open: (recognition) => new AssemblyaiStream(model, options, recognition),
  };
}

class AssemblyaiStream implements RecognitionStream {
  readonly #socket: VendorSocket;
  readonly #clock: Clock;
  readonly #onEvent: (event: RecognitionEvent) => void;
  readonly #rateHz: number;
  readonly #blocks: SampleBlocks;
  #hasUnsettledAudio = false;
  readonly #finalises: PendingFinalises;
  /** A turn with words and without an end. */
  #isTurnOpen = false;
  /** The plain end of a turn, used if the formatted one does not arrive. */
  #plainEnd: Turn | null = null;
  #lastFinalTurn = -1;
  #formatting: Timer | null = null;

  constructor(
    model: string,
    { baseUrl, apiKey, clock }: SpeechVendorOptions,
    recognition: RecognitionOptions,
  ) {
    this.#clock = clock;
    this.#onEvent = recognition.onEvent;
    this.#finalises = new PendingFinalises({
      clock,
      timeoutMs: () => (this.#isTurnOpen ? FINALISE_TIMEOUT_MS : UNHEARD_TIMEOUT_MS),
      onTimeout: () => this.#onAnswerTimeout(),
      onFinalised: () => this.#onEvent({ type: 'finalised' }),
      isOver: () => this.#socket.isOver,
    });
    this.#rateHz = recognition.sampleRateHz;
    this.#blocks = new SampleBlocks((this.#rateHz * MESSAGE_MS) / 1_000);
    const isSteered = !recognition.multilingual && !model.startsWith('universal-streaming');
    const url = socketUrl(baseUrl, '/v3/ws', {
      // The English model recognises only English.
      speech_model:
        model === ENGLISH_ONLY && recognition.language !== 'en' ? 'universal-streaming-multilingual' : model,
      sample_rate: String(this.#rateHz),
      encoding: 'pcm_s16le',
      format_turns: 'true',
      language_codes: isSteered ? JSON.stringify([recognition.language]) : undefined,
      keyterms_prompt: recognition.keyterms.length > 0 ? JSON.stringify(recognition.keyterms) : undefined,
    });
    const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: apiKey };
    const categoryOfClose = (code: number) => CLOSE_CATEGORIES[code] ?? null;
    this.#socket = new VendorSocket({ vendor: 'AssemblyAI', url, headers, clock, categoryOfClose });
    this.#socket.listener = {
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
    this.#blocks.flush(this.#sendAudio, (this.#rateHz * MIN_MESSAGE_MS) / 1_000);
    this.#socket.send(JSON.stringify({ type: 'ForceEndpoint' }));
  }

  close(): void {
    this.#stop();
    this.#socket.close(JSON.stringify({ type: 'Terminate' }));
  }

  /** A copy: the block is reused, and the socket sends later. */
  readonly #sendAudio = (samples: Int16Array): void => this.#socket.send(Buffer.from(samples.slice().buffer));

  #received(text: string): void {
    const received = parseJson(message, text);
    if (received?.type === 'Turn') this.#heard(received);
    if (received?.type !== 'Error') return;
    const { error_code: code = 0, error = 'an error' } = received;
    this.#socket.fail(
      new SpeechError(CLOSE_CATEGORIES[code] ?? 'unavailable', `AssemblyAI reported: ${error}`),
    );
  }

  #heard(heard: Turn): void {
    // A turn is settled once, whatever arrives for it later.
    if (heard.turn_order <= this.#lastFinalTurn) return;
    if (!heard.end_of_turn) {
      const text = heard.words.map((word) => word.text).join(' ');
      if (text === '') return;
      if (!this.#isTurnOpen) {
        this.#isTurnOpen = true;
        this.#finalises.restartTimeout();
      }
      this.#onEvent({ type: 'interim', text });
    } else if (heard.turn_is_formatted || heard.transcript === '') this.#settle(heard);
    else {
      this.#plainEnd = heard;
      this.#formatting?.cancel();
      this.#formatting = this.#clock.after(FORMATTED_TIMEOUT_MS, () => this.#settle(heard));
    }
  }

  #settle({ transcript, words, turn_order, language_code }: Turn): void {
    this.#formatting?.cancel();
    this.#plainEnd = null;
    this.#isTurnOpen = false;
    this.#lastFinalTurn = turn_order;
    const text = transcript.trim();
    const [startMs, endMs] = [words[0]?.start ?? null, words.at(-1)?.end ?? null];
    if (text !== '') this.#onEvent({ type: 'final', text, startMs, endMs, language: language_code ?? null });
    // A listener may have closed the stream.
    if (!this.#finalises.isEmpty && !this.#socket.isOver) this.#finalises.answered();
  }

  #onAnswerTimeout(): void {
    if (this.#plainEnd) this.#settle(this.#plainEnd);
    else if (this.#isTurnOpen)
      this.#socket.fail(new SpeechError('stalled', 'AssemblyAI did not answer ForceEndpoint'));
    else this.#finalises.answered();
  }

  #stop(): void {
    this.#finalises.cancel();
    this.#formatting?.cancel();
  }
}
