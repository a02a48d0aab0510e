/**
 * Live recognition at OpenAI over a WebSocket (`/realtime?intent=transcription`): words as they arrive;
 * `input_audio_buffer.commit` settles a turn. The vendor's turn detection is off; turns may be settled out of
 * order and are reported in order.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { levelDb, Resampler } from '../../dsp/pcm.ts';
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
import { authorization } from './openai-access.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** The only rate the vendor accepts. */
const VENDOR_RATE_HZ = 24_000;
const MESSAGE_MS = 60;
/** The vendor refuses to settle less audio than this. */
const MIN_COMMIT_MS = 100;
/** Longest wait for the text of a commit. */
const FINALISE_TIMEOUT_MS = 4_000;
/**
 * Audio at or above this level may be speech. Without any nothing is committed: models invent words for
 * silence.
 */
const MIN_VOICE_DB = -50;

/** Meaning of `error.code` and `error.type`; all others are `unavailable`. */
const ERROR_CATEGORIES: Readonly<Record<string, SpeechErrorCategory>> = {
  invalid_api_key: 'authentication',
  insufficient_quota: 'quota',
  rate_limit_exceeded: 'overloaded',
  session_expired: 'connectivity',
  model_not_found: 'bad_request',
  invalid_request_error: 'bad_request',
};

const fault = z.object({
  type: z.string().nullish(),
  code: z.string().nullish(),
  message: z.string().nullish(),
});
const message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('input_audio_buffer.committed'), item_id: z.string() }),
  z.object({
    type: z.literal('conversation.item.input_audio_transcription.delta'),
    item_id: z.string(),
    delta: z.string().nullish(),
  }),
  z.object({
    type: z.literal('conversation.item.input_audio_transcription.completed'),
    item_id: z.string(),
    transcript: z.string(),
  }),
  z.object({
    type: z.literal('conversation.item.input_audio_transcription.failed'),
    item_id: z.string(),
    error: fault,
  }),
  z.object({ type: z.literal('error'), error: fault }),
]);

/** Committed audio whose text is due; each commit answers one request of `#finalises`. */
interface Commit {
  /** Assigned by the vendor, in the order of the commits. */
  itemId: string | null;
  text: string | null;
}

/** Creates the recogniser of a live model. */
export function createOpenaiLiveRecognizer(model: string, options: SpeechVendorOptions): Recognizer {
  return {
    id: `openai:${model}`,
    givesInterims: true,
    expectedFinalMs: 400,
    open: (recognition) => new OpenaiLiveStream(model, options, recognition),
  };
}

class OpenaiLiveStream implements RecognitionStream {
  readonly #socket: VendorSocket;
  readonly #onEvent: (event: RecognitionEvent) => void;
  readonly #resampler: Resampler | null;
  #converted = new Int16Array(0);
  readonly #blocks = new SampleBlocks((VENDOR_RATE_HZ * MESSAGE_MS) / 1_000);
  /** Audio sent since the last commit, samples. */
  #uncommitted = 0;
  #mayHoldVoice = false;
  readonly #commits: Commit[] = [];
  /** Words so far of unsettled audio, by the vendor's item. */
  readonly #heard = new Map<string, string>();
  readonly #finalises: PendingFinalises;

  constructor(model: string, options: SpeechVendorOptions, recognition: RecognitionOptions) {
    this.#onEvent = recognition.onEvent;
    this.#finalises = new PendingFinalises({
      clock: options.clock,
      timeoutMs: () => FINALISE_TIMEOUT_MS,
      onTimeout: () => this.#socket.fail(new SpeechError('stalled', 'OpenAI returned no transcript')),
      onFinalised: () => this.#onEvent({ type: 'finalised' }),
      isOver: () => this.#socket.isOver,
    });
    this.#resampler =
      recognition.sampleRateHz === VENDOR_RATE_HZ
        ? null
        : new Resampler(recognition.sampleRateHz, VENDOR_RATE_HZ);
    const url = socketUrl(options.baseUrl, '/realtime', { intent: 'transcription' });
    this.#socket = new VendorSocket({
      vendor: 'OpenAI',
      url,
      headers: authorization(options),
      clock: options.clock,
    });
    this.#socket.listener = {
      onText: (text) => this.#received(text),
      onFailed: (error) => {
        this.#finalises.cancel();
        this.#onEvent({ type: 'failed', error });
      },
    };
    this.#send({
      type: 'session.update',
      session: { type: 'transcription', audio: { input: inputOf(model, recognition) } },
    });
  }

  write(samples: Int16Array): void {
    if (this.#socket.isOver) return;
    this.#mayHoldVoice ||= levelDb(samples) >= MIN_VOICE_DB;
    this.#blocks.write(this.#convert(samples), this.#append);
  }

  finalise(): void {
    if (this.#socket.isOver) return;
    if (this.#mayHoldVoice) this.#commit();
    else this.#finalises.share();
  }

  close(): void {
    this.#finalises.cancel();
    this.#socket.close();
  }

  #commit(): void {
    this.#blocks.flush(this.#append);
    const missing = (VENDOR_RATE_HZ * MIN_COMMIT_MS) / 1_000 - this.#uncommitted;
    if (missing > 0) this.#append(new Int16Array(missing));
    this.#send({ type: 'input_audio_buffer.commit' });
    this.#uncommitted = 0;
    this.#mayHoldVoice = false;
    this.#commits.push({ itemId: null, text: null });
    this.#finalises.add();
  }

  #convert(samples: Int16Array): Int16Array {
    if (!this.#resampler) return samples;
    const capacity = this.#resampler.outputCapacity(samples.length);
    if (this.#converted.length < capacity) this.#converted = new Int16Array(capacity);
    return this.#converted.subarray(0, this.#resampler.push(samples, this.#converted));
  }

  readonly #append = (samples: Int16Array): void => {
    this.#uncommitted += samples.length;
    const audio = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength).toString('base64');
    this.#send({ type: 'input_audio_buffer.append', audio });
  };

  #send(event: object): void {
    this.#socket.send(JSON.stringify(event));
  }

  #received(text: string): void {
    const data = parseJson(message, text);
    if (!data) return;
    switch (data.type) {
      case 'input_audio_buffer.committed': {
        const commit = this.#commits.find(({ itemId }) => itemId === null);
        if (commit) commit.itemId = data.item_id;
        return;
      }
      case 'conversation.item.input_audio_transcription.delta': {
        const words = `${this.#heard.get(data.item_id) ?? ''}${data.delta ?? ''}`;
        this.#heard.set(data.item_id, words);
        if (words.trim() !== '') this.#onEvent({ type: 'interim', text: words.trim() });
        return;
      }
      case 'conversation.item.input_audio_transcription.completed':
        this.#settle(data.item_id, data.transcript.trim());
        return;
      case 'conversation.item.input_audio_transcription.failed':
        this.#fail(data.error);
        return;
      case 'error':
        this.#complained(data.error);
        return;
    }
  }

  #complained(error: z.output<typeof fault>): void {
    if (error.code !== 'input_audio_buffer_commit_empty') {
      this.#fail(error);
      return;
    }
    // The vendor found too little audio to settle.
    this.#settle(null, '');
  }

  #settle(itemId: string | null, text: string): void {
    if (itemId !== null) this.#heard.delete(itemId);
    const commit =
      this.#commits.find((candidate) => candidate.itemId === itemId) ??
      this.#commits.find((candidate) => candidate.itemId === null);
    if (!commit) return;
    commit.itemId = itemId ?? '';
    commit.text = text;
    this.#report();
  }

  /**
   * Reports the finals of turns with text, up to the first without. A listener may close the stream
   * meanwhile.
   */
  #report(): void {
    for (
      let first = this.#commits[0];
      first && first.text !== null && !this.#socket.isOver;
      first = this.#commits[0]
    ) {
      this.#commits.shift();
      if (first.text !== '')
        this.#onEvent({ type: 'final', text: first.text, startMs: null, endMs: null, language: null });
      this.#finalises.answered();
    }
  }

  #fail({ type, code, message: reason }: z.output<typeof fault>): void {
    const category = ERROR_CATEGORIES[code ?? ''] ?? ERROR_CATEGORIES[type ?? ''] ?? 'unavailable';
    this.#socket.fail(new SpeechError(category, `OpenAI reported: ${reason ?? code ?? 'an error'}`));
  }
}

/** `audio.input` of the session. */
function inputOf(model: string, { language, multilingual, keyterms }: RecognitionOptions): object {
  return {
    format: { type: 'audio/pcm', rate: VENDOR_RATE_HZ },
    transcription: {
      model,
      ...(multilingual ? {} : { language }),
      // The other live model accepts neither keywords nor a prompt.
      ...(keyterms.length > 0 && model === 'gpt-live-transcribe' ? { keywords: keyterms } : {}),
    },
    turn_detection: null,
  };
}
