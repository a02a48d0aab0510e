/**
 * A voice on an owner's server with the streaming API of jambonz: a WebSocket for each text, opened in
 * advance, which gets the text and `flush`. The API has no message for the end of a text's audio: it has
 * ended when nothing more comes. The wait is longer while the text should not be over, and while the audio
 * that has come still plays.
 *
 * Source: jambonz' page "Text-to-speech API", section "Streaming WebSocket API", and its
 * custom-speech-example.
 */
import { z } from 'zod';
import type { Clock, Timer } from '#base/clock.ts';
import { parseJson } from '#base/parse-json.ts';
import { TokenBucket } from '#base/token-bucket.ts';
import type { PlannedVoice } from '#config/custom-speech.ts';
import { offeredRate } from '../audio/pcm-bytes.ts';
import {
  SpeechError,
  type SpeechErrorCategory,
  type SynthesisOptions,
  type SynthesisOutlook,
  type Synthesizer,
} from '../speech.ts';
import type { ChunkQueue } from '../vendors/connection/chunk-queue.ts';
import { type SpeechReader, speakOverSocket } from '../vendors/connection/socket-speech.ts';
import { VendorSocket } from '../vendors/connection/vendor-socket.ts';
import { WarmSockets } from '../vendors/connection/warm-sockets.ts';
import { AudioLimit } from './audio-limit.ts';
import { OWN_SERVER, type OwnServerDeps, socketTarget } from './own-server.ts';
import { PcmReader } from './pcm-reader.ts';

const RATES_HZ = [8_000, 16_000, 24_000, 48_000];
/** An unused connection is closed after this, ms. */
const SPARE_MS = 30_000;
/** A text has ended when no audio comes for this long, ms; for the second time while it is too short. */
const QUIET_MS = 500;
const UNFINISHED_QUIET_MS = 1_500;
/** The next text gets this much time until the audio of this one has been played, ms. */
const NEXT_TEXT_MS = 1_000;
/** Fast speech has this much for each character, ms. */
const LEAST_MS_PER_CHARACTER = 45;
/** Most bytes of one message: two seconds of 48 kHz audio in base64. */
const MAX_MESSAGE_BYTES = 256 * 1_024;
/** Messages of any kind accepted at once, and in each second after that. */
const MESSAGES = { burst: 2_000, perSecond: 500 };
/** The same for bytes: two minutes of 48 kHz audio in base64, and eight times as fast as it is spoken. */
const BYTES = { burst: 16 * 2 ** 20, perSecond: 2 ** 20 };

const STOP = JSON.stringify({ type: 'stop' });

const message = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('connect'),
    data: z.object({ sample_rate: z.number(), base64_encoding: z.boolean().nullish() }),
  }),
  z.object({ type: z.literal('data'), data: z.object({ audio: z.string() }) }),
  z.object({ type: z.literal('error'), error: z.string().nullish() }),
]);
/** As jambonz' example reports an error. */
const plainError = z.object({ error: z.string() });

/** Creates the voice of one agent. Speed and emotion of the request do not apply to it. */
export function createJambonzVoice(id: string, own: PlannedVoice, deps: OwnServerDeps): Synthesizer {
  const { clock, egress } = deps;
  const connect = (url: URL) => {
    const messages = new TokenBucket(clock, MESSAGES);
    const bytes = new TokenBucket(clock, BYTES);
    return new VendorSocket({
      ...socketTarget(url, own.api_key, egress),
      clock,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      admits: (read) => messages.tryTake(read.messages) && bytes.tryTake(read.bytes),
    });
  };
  const sockets = new WarmSockets({ clock, idleMs: SPARE_MS, connect });
  return {
    id,
    voices: [],
    prepare(outlook) {
      try {
        sockets.prepare(addressOf(own, outlook));
      } catch {
        // The text that needs the connection reports it.
      }
    },
    async *synthesise(text, synthesis: SynthesisOptions) {
      synthesis.signal.throwIfAborted();
      const limit = new AudioLimit(text);
      // The end of no audio would never come.
      if (!limit.isSpoken) return;
      const speech = {
        vendor: OWN_SERVER,
        url: addressOf(own, synthesis),
        messages: [{ type: 'stream', text }, { type: 'flush' }].map((each) => JSON.stringify(each)),
        farewell: STOP,
        isGreeting: (received: string) => parseJson(message, received)?.type === 'connect',
        createReader: (queue: ChunkQueue) =>
          new JambonzVoiceReader({
            queue,
            clock,
            limit,
            leastMs: LEAST_MS_PER_CHARACTER * text.length,
            rateHz: rateOf(synthesis),
          }),
      };
      yield* speakOverSocket(speech, { sockets, clock, signal: synthesis.signal });
      limit.end();
    },
    close: async () => sockets.close(),
  };
}

function rateOf({ sampleRateHz }: SynthesisOutlook): number {
  return offeredRate(RATES_HZ, sampleRateHz);
}

function addressOf(own: PlannedVoice, outlook: SynthesisOutlook): URL {
  const url = new URL(own.url);
  const parameters = {
    voice: own.voice,
    language: own.language || outlook.language,
    sampleRate: String(rateOf(outlook)),
    model: own.model,
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== '') url.searchParams.set(name, value);
  return url;
}

interface ReaderOptions {
  readonly queue: ChunkQueue;
  readonly clock: Clock;
  readonly limit: AudioLimit;
  /** Audio that the text has at least, ms. */
  readonly leastMs: number;
  /** The rate that was asked for, Hz. */
  readonly rateHz: number;
}

class JambonzVoiceReader implements SpeechReader {
  readonly #options: ReaderOptions;
  #pcm: PcmReader | null = null;
  #rateHz: number;
  #heardMs = 0;
  #firstAtMs: number | null = null;
  #quiet: Timer | null = null;
  readonly #end: Timer;

  constructor(options: ReaderOptions) {
    const { clock, limit, rateHz } = options;
    this.#options = options;
    this.#rateHz = rateHz;
    this.#end = clock.after(limit.longestMs, () =>
      this.#fail('stalled', `was not done within ${limit.longestMs} ms`),
    );
  }

  onText(text: string): void {
    const received = parseJson(message, text);
    if (received?.type === 'connect') this.#rateHz = received.data.sample_rate;
    else if (received?.type === 'data') this.onBinary(Buffer.from(received.data.audio, 'base64'));
    else {
      const error = received?.error ?? parseJson(plainError, text)?.error;
      if (received || error !== undefined)
        this.#fail('unavailable', `reported an error: ${(error ?? '').slice(0, 200)}`);
    }
  }

  onBinary(bytes: Buffer): void {
    const { queue, limit, clock } = this.#options;
    try {
      this.#pcm ??= new PcmReader({ sampleRateHz: this.#rateHz, channels: 1 });
      const read = this.#pcm.read(bytes);
      if (read.samples.length > 0) queue.push(limit.add(read));
      this.#heardMs += (read.samples.length * 1_000) / read.sampleRateHz;
    } catch (error) {
      this.close();
      queue.fail(error);
      return;
    }
    this.#firstAtMs ??= clock.now();
    this.#quiet?.cancel();
    this.#quiet = clock.after(this.#quietMs(clock.now() - this.#firstAtMs), () => queue.end());
  }

  isComplete(): boolean {
    return this.#heardMs > 0 && this.#heardMs >= this.#options.leastMs;
  }

  close(): void {
    this.#quiet?.cancel();
    this.#end.cancel();
  }

  /** `playedMs`: of the audio so far, at most. */
  #quietMs(playedMs: number): number {
    if (!this.isComplete()) return UNFINISHED_QUIET_MS;
    const spareMs = this.#heardMs - playedMs - NEXT_TEXT_MS;
    return Math.min(UNFINISHED_QUIET_MS, Math.max(QUIET_MS, spareMs));
  }

  #fail(category: SpeechErrorCategory, what: string): void {
    this.#options.queue.fail(new SpeechError(category, `${OWN_SERVER} ${what}`));
  }
}
