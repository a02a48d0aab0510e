/**
 * A stand-in for Deepgram's Flux recognition (`WS /v2/listen`), speaking the documented protocol over a real
 * socket: `Connected`, then `TurnInfo` for every quarter of a second of audio and for each change of the
 * turn. A turn ends after silence or at `ForceEndTurn`, which is ignored outside a turn. Like the vendor, it
 * refuses parameters that it does not know with HTTP 400.
 */
import { Ear } from './ear.ts';
import {
  startVendorServer,
  type VendorConnection,
  type VendorProtocol,
  type VendorServer,
} from './vendor-sockets.ts';

/** Behaviour of the stand-in. */
export interface FluxServerOptions {
  /** Transcripts in order. Default: `hello`. */
  readonly lines?: readonly string[];
  /** When set, any other token is answered 401. */
  readonly apiKey?: string;
  /** Delay of every answer, ms. Default 0. */
  readonly delayMs?: number;
  /** Reported by the multilingual model. */
  readonly languages?: readonly string[];
  /** Leaves the words without times, as older servers do. */
  readonly hasNoTimes?: boolean;
  /** Sends no end of a turn. */
  readonly isEndless?: boolean;
  /** A turn begins only after the first `ForceEndTurn` has been ignored. */
  readonly isLate?: boolean;
}

/** A running stand-in. */
export interface FluxServer extends VendorServer {
  /** Reports an error on every connection, then closes it. */
  breakDown(): void;
}

const UPDATE_MS = 250;
/** Silence that ends a turn, ms of audio. */
const END_OF_TURN_MS = 400;
const MODELS = ['flux-general-en', 'flux-general-multi'];
const RATES = ['8000', '16000', '24000', '44100', '48000'];
const LANGUAGES = ['en', 'es', 'fr', 'de', 'hi', 'ru', 'pt', 'ja', 'it', 'nl'];
const PARAMETERS = ['model', 'encoding', 'sample_rate', 'keyterm', 'language_hint'];

/** Starts the stand-in on a free port of 127.0.0.1. */
export async function startFluxServer(options: FluxServerOptions = {}): Promise<FluxServer> {
  const server = await startVendorServer({
    mayEnter: ({ authorization }) =>
      options.apiKey === undefined || authorization === `Token ${options.apiKey}`,
    refusalOf: ({ pathname, searchParams }) => {
      if (pathname !== '/v2/listen') return 404;
      return isUnderstood(searchParams) ? null : 400;
    },
    accept: (connection) => listen(connection, options),
  });
  return Object.defineProperties(server as FluxServer, {
    breakDown: {
      value: () => {
        for (const connection of server.connections) {
          connection.say({
            type: 'Error',
            sequence_id: 1,
            code: 'INTERNAL_SERVER_ERROR',
            description: 'a fault',
          });
          connection.close(1011);
        }
      },
    },
  });
}

function isUnderstood(query: URLSearchParams): boolean {
  const hints = query.getAll('language_hint');
  return (
    [...query.keys()].every((name) => PARAMETERS.includes(name)) &&
    MODELS.includes(query.get('model') ?? '') &&
    query.get('encoding') === 'linear16' &&
    RATES.includes(query.get('sample_rate') ?? '') &&
    hints.every((hint) => LANGUAGES.includes(hint)) &&
    (hints.length === 0 || query.get('model') === 'flux-general-multi')
  );
}

function listen(
  connection: VendorConnection,
  options: FluxServerOptions,
): ReturnType<VendorProtocol['accept']> {
  const { lines = ['hello'], delayMs = 0, languages } = options;
  const ear = new Ear(Number(connection.query.get('sample_rate')), END_OF_TURN_MS);
  const turn = { index: 0, isOpen: false, mayBegin: options.isLate !== true };
  let sequence = 0;
  let nextUpdateMs = UPDATE_MS;

  /** Equal delays keep the answers in order. */
  const say = (body: object) => {
    const numbered = { request_id: 'r', sequence_id: sequence++, ...body };
    if (delayMs > 0) setTimeout(() => connection.say(numbered), delayMs);
    else connection.say(numbered);
  };
  const line = () => lines[turn.index % lines.length] ?? '';
  const tell = (event: string, transcript: string, more: object = {}) =>
    say({
      type: 'TurnInfo',
      event,
      turn_index: turn.index,
      audio_window_start: ear.utteranceStartMs / 1_000,
      audio_window_end: ear.heardMs / 1_000,
      transcript,
      words: (transcript.match(/\S+/g) ?? []).map((word, index) => ({
        word,
        confidence: 0.9,
        ...(options.hasNoTimes
          ? {}
          : {
              start: ear.utteranceStartMs / 1_000 + index * 0.2,
              end: ear.utteranceStartMs / 1_000 + index * 0.2 + 0.15,
            }),
      })),
      end_of_turn_confidence: event === 'EndOfTurn' ? 0.9 : 0.1,
      ...(connection.query.get('model') === 'flux-general-multi' && languages ? { languages } : {}),
      ...more,
    });
  const soFar = () => (turn.isOpen ? (line().split(' ')[0] ?? '') : '');
  const begin = () => {
    turn.isOpen = true;
    tell('StartOfTurn', soFar());
  };
  const end = (trigger: 'model' | 'manual') => {
    if (options.isEndless) return;
    tell('EndOfTurn', line(), { trigger });
    turn.index++;
    turn.isOpen = false;
    ear.reset();
  };

  say({ type: 'Connected' });
  return {
    onAudio(bytes) {
      const event = ear.hear(bytes);
      if (ear.hasSpeech && !turn.isOpen && turn.mayBegin) begin();
      else if (turn.isOpen && event === 'ended') end('model');
      else if (ear.heardMs >= nextUpdateMs) tell('Update', soFar());
      else return;
      nextUpdateMs = ear.heardMs + UPDATE_MS;
    },
    onJson({ type }) {
      if (type === 'CloseStream') connection.close(1000);
      if (type !== 'ForceEndTurn') return;
      if (turn.isOpen) end('manual');
      else if (ear.hasSpeech) {
        turn.mayBegin = true;
        begin();
      }
    },
  };
}
