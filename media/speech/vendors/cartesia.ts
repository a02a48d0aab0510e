/**
 * Cartesia: streamed synthesis with word times (`WS /tts/websocket`). One socket carries every synthesis of
 * the process, each as a context of its own; late messages of an aborted one are recognised by their id and
 * dropped.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Clock, Timer } from '#base/clock.ts';
import { parseJson } from '#base/parse-json.ts';
import { VENDORS } from '#config/vendors.ts';
import { offeredRate, SampleReader } from '../audio/pcm-bytes.ts';
import {
  type SpeechChunk,
  SpeechError,
  type SpokenWord,
  type SynthesisOptions,
  type Synthesizer,
} from '../speech.ts';
import { WordTimes } from '../text/spoken-words.ts';
import { ChunkQueue } from './connection/chunk-queue.ts';
import { socketUrl, VendorSocket } from './connection/vendor-socket.ts';
import { categoryOf } from './connection/vendor-status.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

const API_VERSION = '2026-03-01';
const MODEL = 'sonic-3.5';
const RATES_HZ = [8_000, 16_000, 22_050, 24_000, 44_100, 48_000];
const SLOWEST = 0.6;
const FASTEST = 1.5;
/** An unused socket is closed after this, before the vendor closes it after five minutes. */
const IDLE_MS = 240_000;
/** Audio held back until the next message, so that the time of the last word never arrives without audio. */
const TAIL_MS = 20;

const seconds = z.array(z.number());
const message = z.object({
  type: z.string(),
  context_id: z.string().nullish(),
  data: z.string().optional(),
  word_timestamps: z.object({ words: z.array(z.string()), start: seconds, end: seconds }).optional(),
  status_code: z.number().optional(),
  title: z.string().optional(),
  message: z.string().optional(),
  error: z.string().optional(),
});
type CartesiaMessage = z.output<typeof message>;

/** Creates the synthesiser. It connects when a call is announced, or at the first text. */
export function createCartesiaSynthesizer(options: SpeechVendorOptions): Synthesizer {
  const connection = new CartesiaConnection(options);
  const voices = VENDORS.cartesia.voices;
  return {
    id: 'cartesia',
    voices,
    prepare: () => connection.prepare(),
    async *synthesise(text, synthesis) {
      synthesis.signal.throwIfAborted();
      if (text.trim() !== '') yield* connection.speak(text, synthesis.voiceId ?? voices[0].id, synthesis);
    },
    close: async () => connection.close(),
  };
}

class CartesiaConnection {
  readonly #options: SpeechVendorOptions;
  readonly #contexts = new Map<string, CartesiaContext>();
  #socket: VendorSocket | null = null;
  #idle: Timer | null = null;

  constructor(options: SpeechVendorOptions) {
    this.#options = options;
  }

  /**
   * An open socket may have died unnoticed: if it fails before its first message, the text is sent once more
   * on a new one.
   */
  async *speak(text: string, voiceId: string, synthesis: SynthesisOptions): AsyncGenerator<SpeechChunk> {
    const wasOpen = this.#socket?.isOver === false;
    const context = this.#begin(text, voiceId, synthesis);
    try {
      yield* context.read(synthesis.signal);
    } catch (error) {
      const isDeadSocket =
        wasOpen && !context.hasHeard && error instanceof SpeechError && error.category === 'connectivity';
      if (!isDeadSocket) throw error;
      yield* this.#begin(text, voiceId, synthesis).read(synthesis.signal);
    }
  }

  /** Connects unless connected. */
  prepare(): void {
    if (this.#socket?.isOver === false) return;
    this.#rest(this.#open());
  }

  #begin(text: string, voiceId: string, synthesis: SynthesisOptions): CartesiaContext {
    const id = randomUUID();
    const rateHz = offeredRate(RATES_HZ, synthesis.sampleRateHz);
    this.#idle?.cancel();
    const socket = this.#open();
    const context = new CartesiaContext(text, rateHz, this.#options.clock, () => {
      this.#contexts.delete(id);
      if (!context.isDone) socket.send(JSON.stringify({ context_id: id, cancel: true }));
      if (this.#contexts.size === 0) this.#rest(socket);
    });
    this.#contexts.set(id, context);
    socket.send(
      JSON.stringify({
        model_id: MODEL,
        transcript: text,
        voice: { mode: 'id', id: voiceId },
        language: synthesis.language,
        context_id: id,
        output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: rateHz },
        generation_config: {
          speed: Math.min(FASTEST, Math.max(SLOWEST, synthesis.speed)),
          emotion: synthesis.emotion ?? undefined,
        },
        add_timestamps: true,
        continue: false,
      }),
    );
    return context;
  }

  close(): void {
    this.#idle?.cancel();
    this.#socket?.close();
    for (const context of [...this.#contexts.values()])
      context.fail(new SpeechError('unavailable', 'The engine is closed'));
  }

  #open(): VendorSocket {
    if (this.#socket && !this.#socket.isOver) return this.#socket;
    const { baseUrl, apiKey, clock } = this.#options;
    const headers = {
      'cartesia-version': API_VERSION,
      ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
    };
    const socket = new VendorSocket({
      vendor: 'Cartesia',
      url: socketUrl(baseUrl, '/tts/websocket', {}),
      headers,
      clock,
    });
    socket.listener = {
      onText: (text) => this.#received(text),
      onFailed: (error) => {
        for (const context of [...this.#contexts.values()]) context.fail(error);
      },
    };
    this.#socket = socket;
    return socket;
  }

  #received(text: string): void {
    const received = parseJson(message, text);
    if (!received) return;
    const { context_id: id } = received;
    // An error without an id concerns every context.
    if (received.type === 'error' && !id)
      for (const context of [...this.#contexts.values()]) context.receive(received);
    else if (id) this.#contexts.get(id)?.receive(received);
  }

  #rest(socket: VendorSocket): void {
    this.#idle?.cancel();
    this.#idle = this.#options.clock.after(IDLE_MS, () => socket.close());
  }
}

/** One synthesis on the shared socket. */
class CartesiaContext {
  readonly #queue: ChunkQueue;
  readonly #rateHz: number;
  readonly #samples = new SampleReader();
  readonly #times: WordTimes;
  readonly #onRead: () => void;
  #words: SpokenWord[] = [];
  #tail: Int16Array = new Int16Array(0);
  /** The vendor has finished it. */
  isDone = false;
  /** The vendor sent a message for it. */
  hasHeard = false;

  /** `onRead` is called when its reader has ended, for any reason. */
  constructor(text: string, rateHz: number, clock: Clock, onRead: () => void) {
    this.#queue = new ChunkQueue('Cartesia', clock);
    this.#rateHz = rateHz;
    this.#times = new WordTimes(text);
    this.#onRead = onRead;
  }

  async *read(signal: AbortSignal): AsyncGenerator<SpeechChunk> {
    try {
      yield* this.#queue.read(signal);
    } finally {
      this.#onRead();
    }
  }

  receive({ type, data, word_timestamps: timed, ...rest }: CartesiaMessage): void {
    this.hasHeard = true;
    if (type === 'error') {
      const { status_code: status = 500, title, message: text, error } = rest;
      this.fail(
        new SpeechError(categoryOf(status), `Cartesia: ${text ?? error ?? title ?? `status ${status}`}`),
      );
    } else if (type === 'timestamps' && timed) {
      for (const [index, word] of timed.words.entries()) {
        const placed = this.#times.take(
          word,
          (timed.start[index] ?? 0) * 1_000,
          (timed.end[index] ?? 0) * 1_000,
        );
        if (placed) this.#words.push(placed);
      }
    } else if (type === 'chunk' && data) this.#heard(this.#samples.read(Buffer.from(data, 'base64')));
    else if (type === 'done') {
      this.isDone = true;
      this.#push(this.#tail);
      this.#queue.end();
    }
  }

  fail(error: SpeechError): void {
    this.isDone = true;
    this.#queue.fail(error);
  }

  #heard(samples: Int16Array): void {
    const all = new Int16Array(this.#tail.length + samples.length);
    all.set(this.#tail);
    all.set(samples, this.#tail.length);
    const cut = Math.max(0, all.length - (this.#rateHz * TAIL_MS) / 1_000);
    this.#tail = all.slice(cut);
    this.#push(all.subarray(0, cut));
  }

  #push(samples: Int16Array): void {
    if (samples.length === 0) return;
    this.#queue.push({ samples, sampleRateHz: this.#rateHz, words: this.#words });
    this.#words = [];
  }
}
