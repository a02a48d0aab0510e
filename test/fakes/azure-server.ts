/**
 * A stand-in for Azure's Speech service: `WS /speech/recognition/<mode>/cognitiveservices/v1`, `POST
 * /cognitiveservices/v1` and `POST /speechtotext/transcriptions:transcribe`. Like the vendor, it closes a
 * connection whose messages break the protocol: 1002 for wrong headers and request ids, 1007 for wrong bodies
 * and audio.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Ear } from './ear.ts';
import { startVendorServer, toneFor, type VendorConnection, type VendorServer } from './vendor-sockets.ts';

/** Behaviour of the stand-in. */
export interface AzureServerOptions {
  /** Transcripts in order. Default: `hello`. */
  readonly lines?: readonly string[];
  readonly apiKey?: string;
  /** Delay of every answer, ms. Default 0. */
  readonly delayMs?: number;
  /** Omits `turn.end`. */
  readonly isEndless?: boolean;
  /** Omits the phrase of a turn that the client ends. */
  readonly hasNoPhrase?: boolean;
  /** The `RecognitionStatus` of every phrase. Default: `Success`. */
  readonly status?: string;
}

/** A text message as it arrived. */
interface Received {
  readonly path: string;
  readonly requestId: string;
  readonly body: Record<string, unknown>;
}

/** A running stand-in. */
export interface AzureServer extends VendorServer {
  /** Ends the turn of every connection by itself, after a hypothesis of this text if it is not empty. */
  endTurns(words: string): void;
  /** Closes every connection with this code. */
  breakDown(code: number): void;
}

const MODES = ['conversation', 'dictation', 'interactive'];
const ID = /^[0-9a-f]{32}$/i;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,7}Z$/;
const MAX_AUDIO_BYTES = 8_192;
const MAX_HEADER_BYTES = 8_192;
const HEADER_END = '\r\n\r\n';
const TICKS_PER_MS = 10_000;
const FORMATS: Readonly<Record<string, number>> = {
  'raw-8khz-16bit-mono-pcm': 8_000,
  'raw-16khz-16bit-mono-pcm': 16_000,
  'raw-24khz-16bit-mono-pcm': 24_000,
  'raw-48khz-16bit-mono-pcm': 48_000,
};

/** Starts the stand-in. */
export async function startAzureServer(options: AzureServerOptions = {}): Promise<AzureServer> {
  const listeners: { endTurn(words: string): void }[] = [];
  const server = await startVendorServer({
    mayEnter: (headers) =>
      options.apiKey === undefined || headers['ocp-apim-subscription-key'] === options.apiKey,
    refusalOf: (url) => refusalOf(url),
    accept(connection) {
      if (!ID.test(String(connection.headers['x-connectionid']))) return null;
      const listener = listen(connection, options);
      listeners.push(listener);
      return listener;
    },
    messageOf: (body) => ({ ssml: String(body), text: textOf(String(body)) }),
    answer: (request, body, response) =>
      request.url?.startsWith('/speechtotext/')
        ? transcribe(request, body.toString('latin1'), response)
        : speak(request, String(body), response),
  });
  return Object.defineProperties(server as AzureServer, {
    endTurns: {
      value: (words: string) => {
        for (const listener of listeners) listener.endTurn(words);
      },
    },
    breakDown: {
      value: (code: number) => {
        for (const connection of server.connections) connection.close(code);
      },
    },
  });
}

function refusalOf({ pathname, searchParams }: URL): number | null {
  const mode = /^\/speech\/recognition\/([a-z]+)\/cognitiveservices\/v1$/.exec(pathname)?.[1] ?? '';
  if (!MODES.includes(mode)) return 404;
  const isNamed = /^[a-z]{2,3}-[A-Z]{2}$/.test(searchParams.get('language') ?? '') || searchParams.has('cid');
  return isNamed && searchParams.get('format') === 'simple' ? null : 400;
}

/** A violation of the protocol, with the code that the vendor closes with. */
class Violation extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

interface Turn {
  readonly id: string;
  readonly ear: Ear;
  isOver: boolean;
}

function listen(connection: VendorConnection, options: AzureServerOptions) {
  const { lines = ['hello'], delayMs = 0 } = options;
  const state = { isConfigured: false, phrases: 0, turn: null as Turn | null };
  const contexts = new Set<string>();
  const used = new Set<string>();

  /** Equal delays keep the answers in order. */
  const say = (path: string, requestId: string, body: object | null) => {
    const head = `X-RequestId:${requestId}\r\nContent-Type:application/json; charset=utf-8\r\nPath:${path}`;
    const text = `${head}${HEADER_END}${body ? JSON.stringify(body) : ''}`;
    if (delayMs > 0) setTimeout(() => connection.say(text), delayMs);
    else connection.say(text);
  };
  const line = () => lines[state.phrases % lines.length] ?? '';
  const hypothesise = ({ id, ear }: Turn, text: string) =>
    say('speech.hypothesis', id, { Text: text, Offset: ear.utteranceStartMs * TICKS_PER_MS, Duration: 1 });
  const conclude = ({ id, ear }: Turn) => {
    const text = line();
    const at = ear.utteranceStartMs;
    const RecognitionStatus = options.status ?? (ear.hasSpeech ? 'Success' : 'NoMatch');
    const durationMs = (text.split(' ').length - 1) * 200 + 150;
    const places = { Offset: at * TICKS_PER_MS, Duration: durationMs * TICKS_PER_MS };
    const words = RecognitionStatus === 'Success' ? { DisplayText: text } : {};
    say('speech.phrase', id, { Id: 'p', RecognitionStatus, ...words, ...places, Channel: 0 });
    if (ear.hasSpeech) state.phrases++;
    ear.reset();
  };
  const end = (turn: Turn) => {
    turn.isOver = true;
    say('speech.endDetected', turn.id, { Offset: turn.ear.heardMs * TICKS_PER_MS });
    if (options.isEndless !== true) say('turn.end', turn.id, null);
  };

  function begin(id: string, audio: Buffer): Turn {
    if (used.has(id)) throw new Violation(1002, 'Reuse of request identifiers is not allowed.');
    if (state.turn?.isOver === false) throw new Violation(1002, 'The turn before has not ended.');
    if (!contexts.has(id)) throw new Violation(1002, 'The turn has no speech.context.');
    used.add(id);
    const turn = { id, ear: new Ear(rateOf(audio), 400), isOver: false };
    state.turn = turn;
    say('turn.start', id, { context: { serviceTag: 't' } });
    return turn;
  }

  function hear(id: string, audio: Buffer): void {
    if (!state.isConfigured) throw new Violation(1002, 'No speech.config before audio.');
    if (audio.length > MAX_AUDIO_BYTES) throw new Violation(1007, 'The audio chunk is too long.');
    if (state.turn?.id !== id) {
      begin(id, audio);
      return;
    }
    hearMore(state.turn, audio);
  }

  function hearMore(turn: Turn, audio: Buffer): void {
    if (turn.isOver) throw new Violation(1002, 'Audio after the end of its turn.');
    connection.audioBytes += audio.length;
    if (audio.length === 0) {
      if (options.hasNoPhrase !== true) conclude(turn);
      end(turn);
      return;
    }
    const event = turn.ear.hear(audio);
    if (event === 'speaking') {
      say('speech.startDetected', turn.id, { Offset: turn.ear.utteranceStartMs * TICKS_PER_MS });
      hypothesise(turn, line().split(' ')[0] ?? '');
    }
    if (event === 'ended') conclude(turn);
  }

  function read(text: string): void {
    const received = textMessageOf(text);
    connection.messages.push({ ...received });
    const { path, requestId } = received;
    if (!state.isConfigured && path !== 'speech.config')
      throw new Violation(1002, 'speech.config must be the first message.');
    if (path === 'speech.config') state.isConfigured = true;
    else if (path === 'speech.context') contexts.add(requestId);
    else if (path !== 'telemetry' || !used.has(requestId)) throw new Violation(1002, `Unexpected ${path}.`);
  }

  const strictly = (run: () => void) => {
    try {
      run();
    } catch (error) {
      connection.close(error instanceof Violation ? error.code : 1011);
    }
  };
  return {
    onText: (text: string) => strictly(() => read(text)),
    onAudio: (bytes: Buffer) => {
      connection.audioBytes -= bytes.length;
      strictly(() => {
        const { headers, body } = binaryMessageOf(bytes);
        hear(headers.get('X-RequestId') ?? '', body);
      });
    },
    endTurn(words: string) {
      if (!state.turn) return;
      if (words !== '') hypothesise(state.turn, words);
      end(state.turn);
    },
  };
}

function textMessageOf(text: string): Received {
  const split = text.indexOf(HEADER_END);
  if (split < 0) throw new Violation(1007, 'Text message contains no header separator.');
  const headers = headersOf(text.slice(0, split));
  if (!headers.get('Content-Type')?.startsWith('application/json'))
    throw new Violation(1007, 'The body must be JSON.');
  return {
    path: headers.get('Path') ?? '',
    requestId: headers.get('X-RequestId') ?? '',
    body: JSON.parse(text.slice(split + HEADER_END.length)) as Record<string, unknown>,
  };
}

function binaryMessageOf(bytes: Buffer) {
  if (bytes.length < 2) throw new Violation(1007, 'Binary message has invalid header size prefix.');
  const length = bytes.readUInt16BE(0);
  if (length > MAX_HEADER_BYTES || 2 + length > bytes.length)
    throw new Violation(1007, 'Binary message has invalid header size.');
  const headers = headersOf(bytes.toString('ascii', 2, 2 + length));
  if (headers.get('Path') !== 'audio') throw new Violation(1002, 'A binary message must be audio.');
  // Microsoft's own clients name the type in the first audio of a turn only.
  if ((headers.get('Content-Type') ?? 'audio/x-wav') !== 'audio/x-wav')
    throw new Violation(1007, 'Unknown audio type.');
  return { headers, body: bytes.subarray(2 + length) };
}

function headersOf(text: string): ReadonlyMap<string, string> {
  const headers = new Map(
    text
      .split('\r\n')
      .filter((line) => line !== '')
      .map((line): [string, string] => [
        line.slice(0, line.indexOf(':')),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
  );
  if (!headers.get('Path')) throw new Violation(1002, 'Missing/Empty header. Path');
  if (!ID.test(headers.get('X-RequestId') ?? ''))
    throw new Violation(1002, 'X-RequestId was not specified in no-dash UUID format.');
  if (!TIME.test(headers.get('X-Timestamp') ?? '')) throw new Violation(1002, 'Wrong X-Timestamp.');
  return headers;
}

/** The rate in the RIFF header that the first audio of a turn must be. */
function rateOf(riff: Buffer): number {
  const isPcm =
    riff.length >= 44 &&
    riff.toString('latin1', 0, 4) === 'RIFF' &&
    riff.toString('latin1', 8, 16) === 'WAVEfmt ' &&
    riff.readUInt16LE(20) === 1 &&
    riff.readUInt16LE(22) === 1 &&
    riff.readUInt16LE(34) === 16;
  const rateHz = isPcm ? riff.readUInt32LE(24) : 0;
  if (rateHz !== 8_000 && rateHz !== 16_000)
    throw new Violation(1007, 'The first audio needs a RIFF header.');
  return rateHz;
}

/** Elements that the vendor's elements may contain, of those that are sent here. */
const CONTENTS: Readonly<Record<string, readonly string[]>> = {
  'mstts:express-as': ['lang', 'prosody'],
  lang: ['prosody'],
  prosody: ['prosody'],
};

/** What is spoken of an SSML document; null if it is not one that the vendor accepts. */
function textOf(ssml: string): string | null {
  const inner =
    /^<speak version="1\.0" [^<>]*xml:lang="[^"]+">(<voice name="[^"]+">.*<\/voice>)<\/speak>$/s.exec(
      ssml,
    )?.[1];
  const opened: string[] = [];
  for (const [, slash, name = ''] of (inner ?? '').matchAll(/<(\/?)([a-z:-]+)[^<>]*>/g)) {
    if (slash === '') {
      if (CONTENTS[opened.at(-1) ?? '']?.includes(name) === false) return null;
      opened.push(name);
    } else if (opened.pop() !== name) return null;
  }
  if (inner === undefined || opened.length > 0) return null;
  return inner
    .replace(/<[^<>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}

/** Two phrases of two people for every recording of the documented form. */
function transcribe({ method, url }: IncomingMessage, form: string, response: ServerResponse): void {
  const [, definition = ''] = /name="definition"\r\n\r\n([^\r]*)\r\n/.exec(form) ?? [];
  const isRecording = /name="audio"; filename="[^"]+"\r\nContent-Type: audio\/wav\r\n\r\nRIFF/.test(form);
  const isRoute =
    method === 'POST' && url === '/speechtotext/transcriptions:transcribe?api-version=2024-11-15';
  if (!isRoute || !isRecording || definition === '') return void response.writeHead(400).end();
  const { locales = ['de-DE'], diarization } = JSON.parse(definition) as {
    locales?: string[];
    diarization?: { enabled: boolean };
  };
  const phrases = ['Good morning.', 'Hello.'].map((text, index) => ({
    ...(diarization?.enabled ? { speaker: index } : {}),
    offsetMilliseconds: index * 1_000,
    durationMilliseconds: 800,
    text,
    words: [],
    locale: locales[0],
    confidence: 0.9,
  }));
  response.writeHead(200, { 'content-type': 'application/json' }).end(
    JSON.stringify({
      durationMilliseconds: 2_000,
      combinedPhrases: [{ text: phrases.map(({ text }) => text).join(' ') }],
      phrases,
    }),
  );
}

function speak({ method, url, headers }: IncomingMessage, ssml: string, response: ServerResponse) {
  const rateHz = FORMATS[String(headers['x-microsoft-outputformat'])];
  const text = textOf(ssml);
  const refuse = (status: number) => void response.writeHead(status).end();
  if (method !== 'POST' || url !== '/cognitiveservices/v1') return refuse(404);
  if (headers['content-type'] !== 'application/ssml+xml') return refuse(415);
  if (rateHz === undefined || text === null || !headers['user-agent']) return refuse(400);
  const bytes = Buffer.from(toneFor(text, rateHz).buffer);
  response.writeHead(200, { 'content-type': 'audio/basic' });
  // Odd byte counts, because pieces may split a sample.
  for (let at = 0; at < bytes.length; at += 2_001) response.write(bytes.subarray(at, at + 2_001));
  response.end();
}
