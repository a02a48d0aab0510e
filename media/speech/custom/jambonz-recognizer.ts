/**
 * Live recognition on an owner's server with the custom speech API of jambonz. The API has no request for
 * the final results so far but `stop`, after which the server closes the connection. So each `finalise` stops
 * the connection in use, and the audio after it goes to a new one, whose results wait for those of the older
 * ones.
 */
import type { PlannedRecognizer } from '#config/custom-speech.ts';
import { levelDb, RateConverter } from '../../dsp/pcm.ts';
import { PendingFinalises } from '../pending-finalises.ts';
import { type RecognitionOptions, type RecognitionStream, type Recognizer, SpeechError } from '../speech.ts';
import { type ConnectionEvent, JambonzConnection } from './jambonz-connection.ts';
import { brokenRequest, OWN_SERVER, type OwnServerDeps, socketTarget } from './own-server.ts';

/** Longest wait for the results after `stop`, ms. */
const FINALISE_TIMEOUT_MS = 2_000;
/** Least speech whose missing result is a stall, ms. */
const MIN_VOICE_MS = 300;
/** Audio at or above this level may be speech. */
const MIN_VOICE_DB = -45;
/** Most connections of one stream: those that were stopped and are not closed yet, and the one in use. */
const MAX_CONNECTIONS = 8;

/** Creates the recogniser of one agent. */
export function createJambonzRecognizer(id: string, own: PlannedRecognizer, deps: OwnServerDeps): Recognizer {
  return {
    id,
    givesInterims: own.interim_results,
    expectedFinalMs: 700,
    open(recognition) {
      let target: SocketTarget;
      try {
        target = socketTarget(new URL(own.url), own.api_key, deps.egress);
      } catch (error) {
        return refusedStream(brokenRequest(error), recognition);
      }
      return new JambonzStream(own, recognition, { ...deps, target });
    },
  };
}

/** A stream that fails as soon as it has been opened. */
function refusedStream(error: SpeechError, { onEvent }: RecognitionOptions): RecognitionStream {
  let isClosed = false;
  queueMicrotask(() => {
    if (!isClosed) onEvent({ type: 'failed', error });
  });
  return {
    write: () => undefined,
    finalise: () => undefined,
    close: () => {
      isClosed = true;
    },
  };
}

type SocketTarget = ReturnType<typeof socketTarget>;

interface StreamDeps extends Pick<OwnServerDeps, 'clock'> {
  readonly target: SocketTarget;
}

class JambonzStream implements RecognitionStream {
  readonly #own: PlannedRecognizer;
  readonly #recognition: RecognitionOptions;
  readonly #deps: StreamDeps;
  readonly #converter: RateConverter;
  readonly #finalises: PendingFinalises;
  /** The oldest first. All but the last are stopped. */
  readonly #connections: JambonzConnection[] = [];
  #isOver = false;

  constructor(own: PlannedRecognizer, recognition: RecognitionOptions, deps: StreamDeps) {
    this.#own = own;
    this.#recognition = recognition;
    this.#deps = deps;
    this.#converter = new RateConverter(own.sample_rate_hz);
    this.#finalises = new PendingFinalises({
      clock: deps.clock,
      timeoutMs: () => FINALISE_TIMEOUT_MS,
      onTimeout: () => this.#onAnswerTimeout(),
      onFinalised: () => recognition.onEvent({ type: 'finalised' }),
      isOver: () => this.#isOver,
    });
    this.#current();
  }

  write(samples: Int16Array): void {
    if (this.#isOver) return;
    const { sampleRateHz } = this.#recognition;
    const voiceMs = levelDb(samples) >= MIN_VOICE_DB ? (samples.length * 1_000) / sampleRateHz : 0;
    // A copy: the caller may reuse its array, and the socket sends later.
    const sent = this.#converter.convert(samples, sampleRateHz).slice();
    if (sent.length > 0) this.#current().write(Buffer.from(sent.buffer), voiceMs);
  }

  finalise(): void {
    if (this.#isOver) return;
    const last = this.#connections.at(-1);
    const hasRoom = this.#connections.length < MAX_CONNECTIONS;
    if (last?.isUnsettled && !last.isStopped && hasRoom) {
      last.stop();
      this.#finalises.add();
    } else this.#finalises.share();
  }

  close(): void {
    if (this.#isOver) return;
    this.#end();
  }

  /** The connection for audio. */
  #current(): JambonzConnection {
    const last = this.#connections.at(-1);
    if (last && !last.isStopped) return last;
    const opened: JambonzConnection = new JambonzConnection({
      ...connectionTo(this.#own, this.#recognition, this.#deps),
      onEvent: (event) => this.#onEvent(opened, event),
    });
    this.#connections.push(opened);
    if (this.#connections.length === 1) opened.release();
    return opened;
  }

  #onEvent(from: JambonzConnection, event: ConnectionEvent): void {
    if (this.#isOver) return;
    if (event.type === 'interim') this.#recognition.onEvent(event);
    if (event.type === 'final') this.#recognition.onEvent({ ...event, startMs: null, endMs: null });
    if (event.type === 'failed') this.#fail(event.error);
    if (event.type !== 'done' || this.#connections[0] !== from) return;
    this.#connections.shift();
    this.#finalises.answered();
    // A listener may have closed the stream.
    if (!this.#isOver) this.#connections[0]?.release();
  }

  /** The server has not closed the oldest connection. */
  #onAnswerTimeout(): void {
    const [oldest] = this.#connections;
    if (!oldest) return;
    if (oldest.hasAnswered || oldest.unsettledVoiceMs < MIN_VOICE_MS) oldest.finish();
    else this.#fail(new SpeechError('stalled', `${OWN_SERVER} did not answer “stop”`));
  }

  #fail(error: SpeechError): void {
    this.#end();
    this.#recognition.onEvent({ type: 'failed', error });
  }

  #end(): void {
    this.#isOver = true;
    this.#finalises.cancel();
    for (const connection of this.#connections) connection.close();
  }
}

function connectionTo(
  own: PlannedRecognizer,
  { keyterms, language }: RecognitionOptions,
  { clock, target }: StreamDeps,
) {
  const options = {
    ...(own.model === '' ? {} : { model: own.model }),
    ...(keyterms.length === 0 ? {} : { hints: keyterms }),
  };
  return {
    clock,
    socket: target,
    start: {
      type: 'start',
      language: own.language || language,
      format: 'raw',
      encoding: 'LINEAR16',
      interimResults: own.interim_results,
      sampleRateHz: own.sample_rate_hz,
      options,
    },
  };
}
