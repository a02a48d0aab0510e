/**
 * Live recognition at Deepgram over a WebSocket (`/v1/listen`): interims as they arrive, finals by the vendor
 * or at `Finalize`. Every wait has a deadline: a socket that opens, accepts speech and returns nothing fails
 * as `stalled`. For silence that proves nothing: Deepgram reports on it, but a self-hosted server with its
 * protocol need not.
 */
import { z } from 'zod';
import type { Timer } from '#base/clock.ts';
import { parseJson } from '#base/parse-json.ts';
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
import { createFluxRecognizer, isFluxModel } from './deepgram-flux.ts';
import { transcribeRecording } from './deepgram-recording.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** Longest wait for the answer to `Finalize`. */
const FINALISE_TIMEOUT_MS = 2_000;
/** Deepgram closes a socket after ten seconds without audio. */
const KEEP_ALIVE_MS = 4_000;

const results = z.object({
  type: z.literal('Results'),
  is_final: z.boolean().optional(),
  from_finalize: z.boolean().optional(),
  start: z.number().optional(),
  duration: z.number().optional(),
  channel: z.object({
    alternatives: z.array(z.object({ transcript: z.string(), languages: z.array(z.string()).optional() })),
  }),
});
const message = z.discriminatedUnion('type', [results, z.object({ type: z.literal('Error') })]);

/** Creates the recogniser of one of Deepgram's models. */
export function createDeepgramRecognizer(model: string, options: SpeechVendorOptions): Recognizer {
  if (isFluxModel(model)) return createFluxRecognizer(model, options);
  return {
    id: `deepgram:${model}`,
    givesInterims: true,
    expectedFinalMs: 300,
    open: (recognition) =>
      new DeepgramStream(listenUrl(options.baseUrl, model, recognition), options, recognition),
    transcribe: (request) => transcribeRecording(model, options, request),
  };
}

function listenUrl(baseUrl: string, model: string, recognition: RecognitionOptions): URL {
  return socketUrl(baseUrl, '/v1/listen', {
    model,
    // A language outside the multilingual model is recognised on its own.
    language:
      recognition.multilingual && MULTILINGUAL.has(recognition.language) ? 'multi' : recognition.language,
    encoding: 'linear16',
    sample_rate: String(recognition.sampleRateHz),
    channels: '1',
    interim_results: 'true',
    punctuate: 'true',
    smart_format: 'true',
    endpointing: '300',
    [model.startsWith('nova-3') ? 'keyterm' : 'keywords']: recognition.keyterms,
  });
}

class DeepgramStream implements RecognitionStream {
  readonly #socket: VendorSocket;
  readonly #onEvent: (event: RecognitionEvent) => void;
  readonly #keepAlive: Timer;
  /** Audio was sent since the last finalise. */
  #hasUnsettledAudio = false;
  readonly #finalises: PendingFinalises;
  readonly #progress: VoiceProgress;
  #sentSinceKeepAlive = false;
  #isOpen = false;

  constructor(url: URL, options: SpeechVendorOptions, recognition: RecognitionOptions) {
    this.#onEvent = recognition.onEvent;
    this.#finalises = new PendingFinalises({
      clock: options.clock,
      timeoutMs: () => FINALISE_TIMEOUT_MS,
      onTimeout: () => this.#onAnswerTimeout(),
      onFinalised: () => this.#onEvent({ type: 'finalised' }),
      isOver: () => this.#socket.isOver,
    });
    this.#progress = new VoiceProgress({
      clock: options.clock,
      sampleRateHz: recognition.sampleRateHz,
      onStall: () =>
        this.#socket.fail(new SpeechError('stalled', 'Deepgram accepts speech and returns nothing')),
    });
    this.#keepAlive = options.clock.every(KEEP_ALIVE_MS, () => this.#sendKeepAlive());
    this.#socket = new VendorSocket({
      vendor: 'Deepgram',
      url,
      headers: authorization(options),
      clock: options.clock,
    });
    this.#socket.listener = {
      onOpen: () => this.#opened(),
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
    this.#sentSinceKeepAlive = true;
    // A copy: the caller may reuse its array, and the socket sends later.
    this.#socket.send(Buffer.from(samples.slice().buffer));
    this.#progress.wrote(samples);
  }

  finalise(): void {
    if (this.#socket.isOver) return;
    if (!this.#hasUnsettledAudio && this.#finalises.isEmpty) {
      this.#finalises.share();
      return;
    }
    this.#hasUnsettledAudio = false;
    this.#finalises.add();
    this.#socket.send(JSON.stringify({ type: 'Finalize' }));
  }

  close(): void {
    this.#stop();
    this.#socket.close(JSON.stringify({ type: 'CloseStream' }));
  }

  #opened(): void {
    this.#isOpen = true;
    this.#progress.opened();
  }

  #sendKeepAlive(): void {
    if (!this.#sentSinceKeepAlive && this.#isOpen) this.#socket.send(JSON.stringify({ type: 'KeepAlive' }));
    this.#sentSinceKeepAlive = false;
  }

  #received(text: string): void {
    this.#progress.answered();
    const received = parseJson(message, text);
    if (received?.type === 'Results') this.#heard(received);
    if (received?.type === 'Error')
      this.#socket.fail(new SpeechError('unavailable', 'Deepgram reported an error'));
  }

  #heard(heard: z.infer<typeof results>): void {
    const best = heard.channel.alternatives[0];
    const text = best?.transcript.trim() ?? '';
    if (text !== '' && heard.is_final === true)
      this.#onEvent({ type: 'final', text, ...times(heard), language: best?.languages?.[0] ?? null });
    else if (text !== '') this.#onEvent({ type: 'interim', text });
    // A listener may have closed the stream.
    if (heard.from_finalize === true && !this.#finalises.isEmpty && !this.#socket.isOver)
      this.#finalises.answered();
  }

  /**
   * Deepgram does not answer a `Finalize` with almost nothing left to settle; unanswered speech is a stall.
   */
  #onAnswerTimeout(): void {
    if (!this.#progress.isOwed) this.#finalises.answered();
    else this.#socket.fail(new SpeechError('stalled', 'Deepgram did not answer Finalize'));
  }

  #stop(): void {
    this.#progress.cancel();
    this.#finalises.cancel();
    this.#keepAlive.cancel();
  }
}

function times(heard: z.infer<typeof results>): { startMs: number | null; endMs: number | null } {
  if (heard.start === undefined || heard.duration === undefined) return { startMs: null, endMs: null };
  return {
    startMs: Math.round(heard.start * 1_000),
    endMs: Math.round((heard.start + heard.duration) * 1_000),
  };
}
