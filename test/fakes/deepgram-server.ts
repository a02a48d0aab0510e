/**
 * A stand-in for Deepgram's live recognition (`WS /v1/listen`), speaking the real protocol over a real
 * socket. An energy detector finds speech in the audio; whenever an utterance ends (silence, or `Finalize`),
 * the next scripted line is its transcript. Each connection starts at the first line and cycles through the
 * lines.
 *
 * const vendor = await startDeepgramServer({ lines: ['hello there', 'book a table'] });
 * … point DEEPGRAM_BASE_URL at vendor.url …
 * vendor.connections[0]?.query.get('model')   // what was requested
 * vendor.fault = { status: 401 };             // for new connections
 * vendor.cut();                               // breaks the open ones
 * await vendor.close();
 *
 * Without delays it answers at once, so benchmarks measure the product and not the vendor.
 */
import { Ear } from './ear.ts';
import {
  startVendorServer,
  type VendorConnection,
  type VendorProtocol,
  type VendorServer,
} from './vendor-sockets.ts';

/** Behaviour of the stand-in. */
export interface DeepgramServerOptions {
  /** Transcripts in order. Default: one line, `hello`. */
  readonly lines?: readonly string[];
  /** Delay of every answer, ms. Default 0. */
  readonly delayMs?: number;
  /** Silence that ends an utterance, ms of audio. Default 300. */
  readonly endpointingMs?: number;
  /** When set, any other token is answered 401. */
  readonly apiKey?: string;
}

/** Starts the stand-in on a free port of 127.0.0.1. */
export function startDeepgramServer(options: DeepgramServerOptions = {}): Promise<VendorServer> {
  return startVendorServer({
    mayEnter: ({ authorization }) =>
      options.apiKey === undefined || authorization === `Token ${options.apiKey}`,
    accept: (connection) => (connection.path === '/v1/listen' ? listen(connection, options) : null),
  });
}

function listen(
  connection: VendorConnection,
  options: DeepgramServerOptions,
): ReturnType<VendorProtocol['accept']> {
  const ear = new Ear(Number(connection.query.get('sample_rate') ?? 16_000), options.endpointingMs ?? 300);
  const lines = options.lines ?? ['hello'];
  let line = 0;

  /** Sends one result; equal delays keep the answers in order. */
  const send = (text: string, flags: { is_final: boolean; from_finalize?: boolean }) => {
    const result = {
      type: 'Results',
      channel_index: [0, 1],
      start: ear.utteranceStartMs / 1_000,
      duration: (ear.heardMs - ear.utteranceStartMs) / 1_000,
      speech_final: flags.is_final,
      ...flags,
      channel: { alternatives: [{ transcript: text, confidence: text === '' ? 0 : 0.99, words: [] }] },
    };
    if (options.delayMs) setTimeout(() => connection.say(result), options.delayMs);
    else connection.say(result);
  };
  const takeLine = () => lines[line++ % lines.length] ?? '';

  return {
    onAudio(audio) {
      const event = ear.hear(audio);
      if (event === 'speaking')
        send(firstWords(lines[line % lines.length] ?? '', ear.voicedMs), { is_final: false });
      if (event === 'ended') {
        send(takeLine(), { is_final: true });
        ear.reset();
      }
    },
    onJson({ type }) {
      if (type === 'CloseStream') connection.close(1000);
      if (type !== 'Finalize') return;
      send(ear.hasSpeech ? takeLine() : '', { is_final: true, from_finalize: true });
      ear.reset();
    },
  };
}

/** The part of a line that can be spoken in this time, at three words a second; at least one word. */
function firstWords(line: string, voicedMs: number): string {
  return line
    .split(' ')
    .slice(0, Math.max(1, Math.floor(voicedMs / 333)))
    .join(' ');
}
