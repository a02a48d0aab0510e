/**
 * Live recognition by Azure's Speech service: phrases with interim words. The protocol has no request for the
 * final words so far but the end of a turn's audio, so each `finalise` ends the turn; audio that arrives
 * meanwhile is held back and begins the next one. A connection lives ten minutes at the vendor: it is replaced
 * earlier, between two turns.
 *
 * Source: Microsoft's page "Speech Service WebSocket protocol".
 */
import { RateConverter } from '../../dsp/pcm.ts';
import { SampleBlocks } from '../audio/sample-blocks.ts';
import { PendingFinalises } from '../pending-finalises.ts';
import { type RecognitionOptions, type RecognitionStream, type Recognizer, SpeechError } from '../speech.ts';
import { authorization, partAddress } from './azure-access.ts';
import { AzureConnection, type AzureEvent } from './azure-connection.ts';
import { socketUrl } from './connection/vendor-socket.ts';
import { VoiceProgress } from './connection/voice-progress.ts';
import { localeOf } from './locales.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** At most 8,192 bytes of audio may be sent in one message. */
const MESSAGE_MS = 60;
const PHONE_RATE_HZ = 8_000;
const WIDE_RATE_HZ = 16_000;
/** Longest wait for the end of a turn. */
const FINALISE_TIMEOUT_MS = 2_000;
/** A connection is replaced after this, ms. */
const RENEW_AFTER_MS = 540_000;
/** Most audio held back while a turn ends, ms. Beyond it the vendor has forgotten to end the turn. */
const MAX_HELD_MS = 10_000;
/** The vendor's recognition modes; any other model is the deployment of a custom one. */
const MODES: readonly string[] = ['conversation', 'dictation', 'interactive'];

/** Creates the recogniser of a mode, or of a custom model by the id of its deployment. It hears recordings as if live. */
export function createAzureRecognizer(model: string, options: SpeechVendorOptions): Recognizer {
  return {
    id: `azure:${model}`,
    givesInterims: true,
    expectedFinalMs: 500,
    open: (recognition) => new AzureStream(listenUrl(options.baseUrl, model, recognition), options, recognition),
  };
}

function listenUrl(baseUrl: string, model: string, { language }: RecognitionOptions): URL {
  const isMode = MODES.includes(model);
  const path = `/speech/recognition/${isMode ? model : 'conversation'}/cognitiveservices/v1`;
  return socketUrl(partAddress(baseUrl, 'stt'), path, {
    // A custom model has its own language.
    language: isMode ? localeOf(language) : undefined,
    cid: isMode ? undefined : model,
    format: 'simple',
  });
}

/** What happened while a turn ended, in order. */
type Held = Int16Array | 'finalise';

class AzureStream implements RecognitionStream {
  readonly #connect: () => AzureConnection;
  readonly #recognition: RecognitionOptions;
  readonly #rateHz: number;
  readonly #converter: RateConverter;
  readonly #blocks: SampleBlocks;
  readonly #finalises: PendingFinalises;
  readonly #progress: VoiceProgress;
  readonly #held: Held[] = [];
  #heldSamples = 0;
  #connection: AzureConnection;
  /** Why the turn is being ended: for a finalise, or to replace the connection. */
  #ending: 'finalise' | 'renewal' | null = null;
  /** Samples were written since the last finalise. */
  #hasUnsettledAudio = false;
  /** Words without a phrase. */
  #interim = '';
  #sentSamples = 0;
  /** Samples sent before the turn. */
  #turnAt = 0;
  #isOver = false;

  constructor(url: URL, options: SpeechVendorOptions, recognition: RecognitionOptions) {
    const { clock } = options;
    const { sampleRateHz, keyterms } = recognition;
    this.#recognition = recognition;
    this.#rateHz = sampleRateHz === PHONE_RATE_HZ ? PHONE_RATE_HZ : WIDE_RATE_HZ;
    this.#converter = new RateConverter(this.#rateHz);
    this.#blocks = new SampleBlocks((this.#rateHz * MESSAGE_MS) / 1_000);
    this.#finalises = new PendingFinalises({
      clock,
      timeoutMs: () => recognition.deadlineMs ?? FINALISE_TIMEOUT_MS,
      onTimeout: () => this.#stall('did not end the turn'),
      onFinalised: () => recognition.onEvent({ type: 'finalised' }),
      isOver: () => this.#isOver,
    });
    this.#progress = new VoiceProgress({
      clock,
      sampleRateHz,
      onStall: () => this.#stall('accepts speech and returns nothing'),
    });
    this.#connect = () => {
      const opened: AzureConnection = new AzureConnection({
        url,
        headers: authorization(options),
        rateHz: this.#rateHz,
        keyterms,
        clock,
        onEvent: (event) => {
          if (!this.#isOver && this.#connection === opened) this.#onEvent(event);
        },
      });
      return opened;
    };
    this.#connection = this.#connect();
  }

  write(samples: Int16Array): void {
    if (this.#isOver) return;
    this.#progress.wrote(samples);
    const converted = this.#converter.convert(samples, this.#recognition.sampleRateHz);
    if (converted.length === 0) return;
    this.#hasUnsettledAudio = true;
    this.#renewIfOld();
    if (this.#ending === null) this.#blocks.write(converted, this.#sendAudio);
    // A copy: the caller may reuse its array.
    else this.#hold(converted.slice());
  }

  finalise(): void {
    if (this.#isOver) return;
    if (!this.#hasUnsettledAudio) {
      this.#finalises.share();
      return;
    }
    this.#hasUnsettledAudio = false;
    this.#finalises.add();
    if (this.#ending === null) this.#settle();
    else this.#held.push('finalise');
  }

  close(): void {
    if (this.#isOver) return;
    this.#stop();
    this.#connection.close();
  }

  readonly #sendAudio = (samples: Int16Array): void => {
    if (!this.#connection.isInTurn) this.#turnAt = this.#sentSamples;
    this.#sentSamples += samples.length;
    this.#connection.send(samples);
  };

  #settle(): void {
    this.#blocks.flush(this.#sendAudio);
    if (!this.#connection.isInTurn) {
      this.#finalises.answered();
      return;
    }
    this.#ending = 'finalise';
    this.#connection.endTurn();
  }

  #hold(samples: Int16Array): void {
    this.#held.push(samples);
    this.#heldSamples += samples.length;
    if (this.#heldSamples * 1_000 > MAX_HELD_MS * this.#rateHz) this.#stall('did not end the turn');
  }

  /** Not in the middle of words, which would be cut. */
  #renewIfOld(): void {
    const isDue = this.#ending === null && this.#interim === '' && this.#connection.ageMs > RENEW_AFTER_MS;
    if (!isDue) return;
    this.#blocks.flush(this.#sendAudio);
    if (!this.#connection.isInTurn) {
      this.#renew();
      return;
    }
    this.#ending = 'renewal';
    this.#connection.endTurn();
  }

  #onEvent(event: AzureEvent): void {
    switch (event.type) {
      case 'opened':
        this.#progress.opened();
        return;
      case 'reacted':
        this.#progress.answered();
        return;
      case 'interim':
        this.#progress.answered();
        this.#interim = event.text;
        this.#recognition.onEvent(event);
        return;
      case 'phrase':
        this.#progress.answered();
        this.#interim = '';
        this.#report(event.text, event.startMs, event.endMs);
        return;
      case 'turn-ended':
        this.#progress.answered();
        this.#turnEnded();
        return;
      case 'failed':
        this.#stop();
        this.#recognition.onEvent(event);
        return;
    }
  }

  #turnEnded(): void {
    // Words that the vendor has left without a phrase count as they are.
    const text = this.#interim;
    this.#interim = '';
    this.#report(text, null, null);
    if (this.#isOver) return;
    const ended = this.#ending;
    this.#ending = null;
    // A turn that the vendor ended by itself has settled everything.
    if (ended === null) this.#hasUnsettledAudio = false;
    if (this.#connection.ageMs > RENEW_AFTER_MS) this.#renew();
    this.#replay();
    if (ended === 'finalise') this.#finalises.answered();
  }

  #renew(): void {
    this.#connection.close();
    this.#connection = this.#connect();
  }

  /** Does what was held back, as far as the next end of a turn. */
  #replay(): void {
    while (this.#ending === null) {
      const held = this.#held.shift();
      if (held === undefined) return;
      if (held === 'finalise') this.#settle();
      else {
        this.#heldSamples -= held.length;
        this.#blocks.write(held, this.#sendAudio);
      }
    }
  }

  #report(text: string, startMs: number | null, endMs: number | null): void {
    if (text === '') return;
    const turnAtMs = (this.#turnAt * 1_000) / this.#rateHz;
    const at = (ms: number | null) => (ms === null ? null : Math.round(turnAtMs + ms));
    this.#recognition.onEvent({ type: 'final', text, startMs: at(startMs), endMs: at(endMs), language: null });
  }

  #stall(what: string): void {
    this.#connection.fail(new SpeechError('stalled', `Azure ${what}`));
  }

  #stop(): void {
    this.#isOver = true;
    this.#progress.cancel();
    this.#finalises.cancel();
  }
}
