/**
 * A stand-in for a speech server that an agent's owner runs with the custom speech API of jambonz:
 * recognition at `WS /stt`, and a voice at `POST /tts` or `WS /tts`. An energy detector finds speech in the
 * audio; whenever an utterance ends (silence, or `stop`), the next scripted line is its transcript. After
 * `stop` it closes the connection.
 *
 * const own = await startJambonzServer({ lines: ['hello there'] });
 * … recogniser at own.sttUrl, voice at own.ttsUrl …
 * own.connections[0]?.messages   // start, stop
 * own.texts[0]                   // the request for a voice
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { wavHeader } from '#media/speech/audio/wav.ts';
import { createAudioEncoder } from '#media/speech/pool/audio-encoder.ts';
import { Ear } from './ear.ts';
import {
  startVendorServer,
  toneFor,
  type VendorConnection,
  type VendorProtocol,
  type VendorServer,
} from './vendor-sockets.ts';

/** Behaviour of the stand-in. */
export interface JambonzServerOptions {
  /** Transcripts in order over all connections; the last repeats. Default: one line, `hello`. */
  readonly lines?: readonly string[];
  /** Delay of every answer, ms. Default 0. */
  readonly delayMs?: number;
  /** Silence that ends an utterance, ms of audio. Default 300. */
  readonly endpointingMs?: number;
  /** When set, any other token is answered 401. */
  readonly apiKey?: string;
  /** Content type of the voice. Default `audio/l16;rate=16000`; WAV and MP3 have 16 kHz, too. */
  readonly contentType?: string;
  /** Length of the pieces in which the voice is sent, bytes. Default 2,001, which splits samples. */
  readonly pieceBytes?: number;
  /** Pause between pieces, ms. Default 0. */
  readonly pieceMs?: number;
  /** The streamed voice comes as base64 in JSON. */
  readonly isBase64?: boolean;
  /** The streamed voice has this rate, whatever was asked for, Hz. */
  readonly streamRateHz?: number;
  /** The streamed voice sends these messages instead of audio. */
  readonly insteadOfAudio?: readonly object[];
  /** The streamed voice greets this late, and drops what comes earlier, as jambonz' example does, ms. */
  readonly greetingMs?: number;
  /** Closes the connection after a text. */
  readonly closesAfterText?: boolean;
}

/** A running stand-in. */
export interface JambonzServer extends VendorServer {
  readonly sttUrl: string;
  readonly ttsUrl: string;
  /** Of the streamed voice. */
  readonly streamUrl: string;
  /** Requests for a voice, in order of arrival. */
  readonly texts: readonly { readonly body: Record<string, unknown>; isAborted: boolean }[];
}

const VOICE_RATE_HZ = 16_000;

/** Starts the stand-in on a free port of 127.0.0.1. */
export async function startJambonzServer(options: JambonzServerOptions = {}): Promise<JambonzServer> {
  const texts: { body: Record<string, unknown>; isAborted: boolean }[] = [];
  const lines = options.lines ?? ['hello'];
  let line = 0;
  const takeLine = () => lines[Math.min(line++, lines.length - 1)] ?? '';
  const peekLine = () => lines[Math.min(line, lines.length - 1)] ?? '';
  const server = await startVendorServer({
    mayEnter: ({ authorization }) =>
      options.apiKey === undefined || authorization === `Bearer ${options.apiKey}`,
    accept(connection) {
      if (connection.path === '/tts') return stream(connection, options);
      return connection.path === '/stt' ? listen(connection, options, { takeLine, peekLine }) : null;
    },
    answer(request, body, response) {
      const text = { body: JSON.parse(String(body)) as Record<string, unknown>, isAborted: false };
      texts.push(text);
      response.on('close', () => {
        text.isAborted = !response.writableFinished;
      });
      void speak(request, String(text.body['text']), { response, options });
    },
  });
  return Object.defineProperties(server as JambonzServer, {
    sttUrl: { value: `${server.url}/stt` },
    ttsUrl: { value: `${server.url.replace('ws', 'http')}/tts` },
    streamUrl: { value: `${server.url}/tts` },
    texts: { value: texts },
  });
}

function listen(
  connection: VendorConnection,
  { delayMs = 0, endpointingMs = 300 }: JambonzServerOptions,
  { takeLine, peekLine }: { readonly takeLine: () => string; readonly peekLine: () => string },
): ReturnType<VendorProtocol['accept']> {
  let ear: Ear | null = null;
  let wantsInterims = false;
  /** Equal delays keep the answers in order. */
  const later = (run: () => void) => {
    if (delayMs > 0) setTimeout(run, delayMs);
    else run();
  };
  const send = (transcript: string, isFinal: boolean) =>
    later(() =>
      connection.say({
        type: 'transcription',
        is_final: isFinal,
        alternatives: [{ transcript, confidence: 0.9 }],
        language: 'en-US',
        channel: 1,
      }),
    );
  return {
    onAudio(audio) {
      const event = ear?.hear(audio);
      if (event === 'speaking' && wantsInterims) send(peekLine().split(' ')[0] ?? '', false);
      if (event !== 'ended') return;
      send(takeLine(), true);
      ear?.reset();
    },
    onJson({ type, sampleRateHz, interimResults }) {
      if (type === 'start') {
        ear = new Ear(Number(sampleRateHz), endpointingMs);
        wantsInterims = interimResults === true;
      }
      if (type !== 'stop') return;
      if (ear?.hasSpeech) send(takeLine(), true);
      later(() => connection.close(1000));
    },
  };
}

/** The streaming API: refuses messages that it does not know, and texts after `stop`. */
function stream(
  connection: VendorConnection,
  { pieceBytes = 2_001, pieceMs = 0, ...options }: JambonzServerOptions,
): ReturnType<VendorProtocol['accept']> {
  const rateHz = options.streamRateHz ?? Number(connection.query.get('sampleRate'));
  const isBase64 = options.isBase64 === true;
  let text = '';
  let isStopped = false;
  let isGreeted = false;
  const greet = () => {
    isGreeted = true;
    connection.say({ type: 'connect', data: { sample_rate: rateHz, base64_encoding: isBase64 } });
  };
  if (options.greetingMs === undefined) greet();
  else setTimeout(greet, options.greetingMs);
  const speakText = async () => {
    const bytes = Buffer.from(toneFor(text, rateHz).buffer);
    text = '';
    for (let at = 0; at < bytes.length && !isStopped; at += pieceBytes) {
      if (at > 0 && pieceMs > 0) await new Promise((resolve) => setTimeout(resolve, pieceMs));
      const piece = bytes.subarray(at, at + pieceBytes);
      connection.say(isBase64 ? { type: 'data', data: { audio: piece.toString('base64') } } : piece);
    }
    if (options.closesAfterText) connection.close(1000);
  };
  const flush = () => {
    if (!options.insteadOfAudio) return void speakText();
    for (const each of options.insteadOfAudio) connection.say(each);
  };
  return {
    onJson(message) {
      if (!isGreeted) return;
      if (isStopped || !['stream', 'flush', 'stop'].includes(String(message['type'])))
        return connection.close(1008);
      if (message['type'] === 'stream') text += String(message['text']);
      if (message['type'] === 'flush') flush();
      if (message['type'] === 'stop') isStopped = true;
    },
  };
}

async function speak(
  request: IncomingMessage,
  text: string,
  { response, options }: { readonly response: ServerResponse; readonly options: JambonzServerOptions },
): Promise<void> {
  if (request.url !== '/tts' || request.method !== 'POST') return void response.writeHead(404).end();
  const { contentType = `audio/l16;rate=${VOICE_RATE_HZ}`, pieceBytes = 2_001, pieceMs = 0 } = options;
  const bytes = await encoded(toneFor(text, VOICE_RATE_HZ), contentType);
  response.writeHead(200, { 'content-type': contentType });
  for (let at = 0; at < bytes.length && !response.destroyed; at += pieceBytes) {
    if (at > 0 && pieceMs > 0) await new Promise((resolve) => setTimeout(resolve, pieceMs));
    response.write(bytes.subarray(at, at + pieceBytes));
  }
  response.end();
}

async function encoded(samples: Int16Array, contentType: string): Promise<Buffer> {
  if (contentType.startsWith('audio/mpeg')) {
    const encoder = await createAudioEncoder({ format: 'mp3', sampleRateHz: VOICE_RATE_HZ, bitRate: 64_000 });
    return Buffer.concat([encoder.encode(samples), encoder.finish()]);
  }
  const raw = Buffer.from(samples.buffer);
  return contentType.includes('wav') ? Buffer.concat([wavHeader(VOICE_RATE_HZ), raw]) : raw;
}
