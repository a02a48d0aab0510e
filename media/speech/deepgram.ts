/**
 * Live recognition at Deepgram over a WebSocket (`/v1/listen`): interims as they come, finals on its own or at `Finalize`.
 * Every wait has a deadline: a socket that opens, takes audio or a `Finalize` and says nothing fails as `stalled`.
 */
import WebSocket from 'ws';
import { z } from 'zod';
import type { Clock, Timer } from '#config/clock.ts';
import { type RecognitionEvent, type RecognitionOptions, type RecognitionStream, type Recognizer, SpeechError } from './speech.ts';
import { categoryOf } from './vendor-status.ts';

/** How Deepgram is reached. */
export interface DeepgramOptions {
  /** http or ws scheme alike, no path. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly clock: Clock;
}

const CONNECT_MS = 3_000;
/** Audio was written and nothing came back; Deepgram reports on silence, too. */
const SILENT_MS = 6_000;
const FINALISE_MS = 2_000;
const LEAST_SETTLED_MS = 300;
/** Deepgram closes a socket after ten seconds without audio. */
const KEEP_ALIVE_MS = 4_000;
const CLOSE_MS = 2_000;
/** Audio kept while the socket opens, or a stalled one is found out. */
const MOST_BUFFERED_BYTES = 512 * 1024;
const MOST_MESSAGE_BYTES = 1024 * 1024;

const results = z.object({
  type: z.literal('Results'),
  is_final: z.boolean().optional(),
  from_finalize: z.boolean().optional(),
  start: z.number().optional(),
  duration: z.number().optional(),
  channel: z.object({ alternatives: z.array(z.object({ transcript: z.string(), languages: z.array(z.string()).optional() })) }),
});
const failure = z.object({ type: z.literal('Error') });

/** Languages of the vendor's multilingual mode (`language=multi`). */
const MULTILINGUAL = new Set(['en', 'es', 'fr', 'de', 'hi', 'ru', 'pt', 'ja', 'it', 'nl']);

/** Creates the recogniser of one of Deepgram's models. */
export function createDeepgramRecognizer(model: string, options: DeepgramOptions): Recognizer {
  return {
    id: `deepgram:${model}`,
    givesInterims: true,
    expectedFinalMs: 300,
    open: (recognition) => new DeepgramStream(listenUrl(options.baseUrl, model, recognition), options, recognition),
  };
}

function listenUrl(baseUrl: string, model: string, recognition: RecognitionOptions): URL {
  const url = new URL(`${baseUrl.replace(/^http/, 'ws')}/v1/listen`);
  const query = {
    model,
    // A language the multilingual model does not know is better recognised alone.
    language: recognition.multilingual && MULTILINGUAL.has(recognition.language) ? 'multi' : recognition.language,
    encoding: 'linear16',
    sample_rate: String(recognition.sampleRateHz),
    channels: '1',
    interim_results: 'true',
    punctuate: 'true',
    smart_format: 'true',
    endpointing: '300',
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  for (const term of recognition.keyterms) url.searchParams.append(model.startsWith('nova-3') ? 'keyterm' : 'keywords', term);
  return url;
}

class DeepgramStream implements RecognitionStream {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #onEvent: (event: RecognitionEvent) => void;
  readonly #keepAlive: Timer;
  readonly #rateHz: number;
  #isOver = false;
  /** Audio was written since the last finalise. */
  #hasUnsettledAudio = false;
  #finalisesOpen = 0;
  #waiting: (Buffer | string)[] = [];
  #waitingBytes = 0;
  #writtenMs = 0;
  #settledMs = 0;
  #sentSinceKeepAlive = false;
  #progress: Timer | null = null;
  #answer: Timer | null = null;

  constructor(url: URL, options: DeepgramOptions, recognition: RecognitionOptions) {
    this.#clock = options.clock;
    this.#rateHz = recognition.sampleRateHz;
    this.#onEvent = recognition.onEvent;
    const headers = options.apiKey === undefined ? {} : { Authorization: `Token ${options.apiKey}` };
    this.#socket = new WebSocket(url, { headers, maxPayload: MOST_MESSAGE_BYTES, perMessageDeflate: false });
    this.#progress = this.#deadline(CONNECT_MS, 'Deepgram did not open the connection');
    this.#keepAlive = options.clock.every(KEEP_ALIVE_MS, () => this.#sendKeepAlive());
    this.#socket.on('open', () => this.#opened());
    this.#socket.on('message', (data, isBinary) => {
      if (!isBinary) this.#received(String(data));
    });
    this.#socket.on('unexpected-response', (_request, response) => {
      response.resume();
      const status = response.statusCode ?? 0;
      this.#fail(new SpeechError(categoryOf(status), `Deepgram refused the connection with HTTP ${status}`));
    });
    this.#socket.on('error', (cause) => this.#fail(new SpeechError('connectivity', 'Deepgram could not be reached', { cause })));
    this.#socket.on('close', () => this.#fail(new SpeechError('connectivity', 'Deepgram closed the connection')));
  }

  write(samples: Int16Array): void {
    if (this.#isOver) return;
    this.#hasUnsettledAudio = true;
    this.#sentSinceKeepAlive = true;
    this.#writtenMs += (samples.length * 1_000) / this.#rateHz;
    // The caller may reuse its array, and the socket sends later.
    this.#send(Buffer.from(samples.slice().buffer));
    this.#progress ??= this.#deadline(SILENT_MS, 'Deepgram takes audio and says nothing');
  }

  finalise(): void {
    if (this.#isOver) return;
    if (!this.#hasUnsettledAudio && this.#finalisesOpen === 0) {
      // Not from inside the caller's own call.
      queueMicrotask(() => {
        if (!this.#isOver) this.#onEvent({ type: 'finalised' });
      });
      return;
    }
    this.#hasUnsettledAudio = false;
    this.#finalisesOpen++;
    this.#send(JSON.stringify({ type: 'Finalize' }));
    this.#answer ??= this.#awaitAnswer();
  }

  close(): void {
    if (this.#isOver) return;
    this.#stop();
    if (this.#socket.readyState !== WebSocket.OPEN) {
      this.#socket.terminate();
      return;
    }
    this.#socket.send(JSON.stringify({ type: 'CloseStream' }));
    this.#socket.close();
    const killer = this.#clock.after(CLOSE_MS, () => this.#socket.terminate());
    this.#socket.once('close', () => killer.cancel());
  }

  #opened(): void {
    this.#progress?.cancel();
    this.#progress = this.#hasUnsettledAudio || this.#finalisesOpen > 0 ? this.#deadline(SILENT_MS, 'Deepgram takes audio and says nothing') : null;
    for (const message of this.#waiting.splice(0)) this.#socket.send(message);
    this.#waitingBytes = 0;
  }

  #send(message: Buffer | string): void {
    const isOpen = this.#socket.readyState === WebSocket.OPEN;
    if (!isOpen) this.#waitingBytes += message.length;
    if (Math.max(this.#waitingBytes, this.#socket.bufferedAmount) > MOST_BUFFERED_BYTES) {
      this.#fail(new SpeechError('stalled', 'Deepgram does not take the audio'));
    } else if (isOpen) this.#socket.send(message);
    else this.#waiting.push(message);
  }

  #sendKeepAlive(): void {
    if (!this.#sentSinceKeepAlive && this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ type: 'KeepAlive' }));
    this.#sentSinceKeepAlive = false;
  }

  #received(text: string): void {
    if (this.#isOver) return;
    this.#progress?.cancel();
    this.#progress = null;
    const message = parse(text);
    if (failure.safeParse(message).success) {
      this.#fail(new SpeechError('unavailable', 'Deepgram reported an error'));
      return;
    }
    const parsed = results.safeParse(message);
    if (parsed.success) this.#heard(parsed.data);
  }

  #heard(heard: z.infer<typeof results>): void {
    const best = heard.channel.alternatives[0];
    const text = best?.transcript.trim() ?? '';
    if (text !== '' && heard.is_final === true) this.#onEvent({ type: 'final', text, ...times(heard), language: best?.languages?.[0] ?? null });
    else if (text !== '') this.#onEvent({ type: 'interim', text });
    if (heard.is_final === true && heard.start !== undefined && heard.duration !== undefined)
      this.#settledMs = (heard.start + heard.duration) * 1_000;
    // A listener may have closed the stream meanwhile.
    if (heard.from_finalize === true && this.#finalisesOpen > 0 && !this.#isOver) this.#finalised();
  }

  #finalised(): void {
    this.#finalisesOpen--;
    this.#answer?.cancel();
    this.#answer = this.#finalisesOpen > 0 ? this.#awaitAnswer() : null;
    this.#onEvent({ type: 'finalised' });
  }

  /** Deepgram leaves a `Finalize` unanswered when there is next to nothing left to settle; anything more unanswered is a stall. */
  #awaitAnswer(): Timer {
    return this.#clock.after(FINALISE_MS, () => {
      if (this.#writtenMs - this.#settledMs < LEAST_SETTLED_MS) this.#finalised();
      else this.#fail(new SpeechError('stalled', 'Deepgram did not answer Finalize'));
    });
  }

  #deadline(ms: number, message: string): Timer {
    return this.#clock.after(ms, () => this.#fail(new SpeechError('stalled', message)));
  }

  #fail(error: SpeechError): void {
    if (this.#isOver) return;
    this.#stop();
    this.#socket.terminate();
    this.#onEvent({ type: 'failed', error });
  }

  #stop(): void {
    this.#isOver = true;
    this.#waiting = [];
    this.#progress?.cancel();
    this.#answer?.cancel();
    this.#keepAlive.cancel();
  }
}

function times(heard: z.infer<typeof results>): { startMs: number | null; endMs: number | null } {
  if (heard.start === undefined || heard.duration === undefined) return { startMs: null, endMs: null };
  return { startMs: Math.round(heard.start * 1_000), endMs: Math.round((heard.start + heard.duration) * 1_000) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
