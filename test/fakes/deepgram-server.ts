/**
 * A stand-in for Deepgram's live recognition (`WS /v1/listen`), speaking the real protocol over a real socket.
 * It hears: an energy detector of its own finds speech in the audio, and every time an utterance ends (silence, or `Finalize`)
 * the next scripted line is its transcript. Each connection starts at the first line and goes round.
 *
 *     const vendor = await startDeepgramServer({ lines: ['hello there', 'book a table'] });
 *     … point DEEPGRAM_BASE_URL at vendor.url …
 *     vendor.connections[0]?.query.get('model')   // what was asked
 *     vendor.fault = { status: 401 };             // for connections from now on
 *     vendor.cut();                               // breaks the open ones
 *     await vendor.close();
 *
 * Without delays it answers at once: the benchmarks measure the product, not the vendor.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { Ear } from './ear.ts';

/** What connections meet while it is set. */
type DeepgramFault =
  /** The upgrade is answered with this status. */
  | { readonly status: number }
  /** Before the upgrade: the socket opens and nothing is ever said. After it: audio is taken and nothing is ever said. */
  | { readonly halfOpen: 'upgrade' | 'results' };

/** How the stand-in behaves. */
export interface DeepgramServerOptions {
  /** Transcripts in order. Default: one line, `hello`. */
  readonly lines?: readonly string[];
  /** Every answer comes this much later, ms. Default 0. */
  readonly delayMs?: number;
  /** Silence that ends an utterance, ms of audio. Default 300. */
  readonly endpointingMs?: number;
  /** When set, another token is answered 401. */
  readonly apiKey?: string;
}

/** One connection as the stand-in sees it. */
interface DeepgramConnection {
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Types of the JSON messages that came, in order. */
  readonly messages: string[];
  audioBytes: number;
  isOpen: boolean;
}

/** The running stand-in. */
export interface DeepgramServer {
  /** For `DEEPGRAM_BASE_URL`. */
  readonly url: string;
  readonly connections: readonly DeepgramConnection[];
  fault: DeepgramFault | null;
  /** Breaks every open connection without a closing handshake. */
  cut(): void;
  close(): Promise<void>;
}

/** Starts the stand-in on a free port of 127.0.0.1. */
export async function startDeepgramServer(options: DeepgramServerOptions = {}): Promise<DeepgramServer> {
  const connections: DeepgramConnection[] = [];
  let fault: DeepgramFault | null = null;
  const http = createServer((_request, response) => response.writeHead(404).end());
  const sockets = new WebSocketServer({ noServer: true });

  http.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {});
    const refuse = (status: number) => void socket.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    if (fault && 'status' in fault) return refuse(fault.status);
    if (fault && fault.halfOpen === 'upgrade') return;
    if (options.apiKey !== undefined && request.headers.authorization !== `Token ${options.apiKey}`) return refuse(401);
    const url = new URL(request.url ?? '/', 'ws://stand-in');
    if (url.pathname !== '/v1/listen') return refuse(404);
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      const connection: DeepgramConnection = { query: url.searchParams, headers: request.headers, messages: [], audioBytes: 0, isOpen: true };
      connections.push(connection);
      listen(accepted, connection, { ...options, isMute: () => fault !== null && 'halfOpen' in fault });
    });
  });

  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}`,
    connections,
    get fault() {
      return fault;
    },
    set fault(value) {
      fault = value;
    },
    cut: () => {
      for (const socket of sockets.clients) socket.terminate();
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets.clients) socket.terminate();
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

function listen(socket: WebSocket, connection: DeepgramConnection, options: DeepgramServerOptions & { readonly isMute: () => boolean }): void {
  const ear = new Ear(Number(connection.query.get('sample_rate') ?? 16_000), options.endpointingMs ?? 300);
  const lines = options.lines ?? ['hello'];
  let line = 0;

  /** Sends one result; answers keep their order, as all are late by the same time. */
  const send = (text: string, flags: { is_final: boolean; from_finalize?: boolean }) => {
    const body = JSON.stringify({
      type: 'Results',
      channel_index: [0, 1],
      start: ear.utteranceStartMs / 1_000,
      duration: (ear.heardMs - ear.utteranceStartMs) / 1_000,
      speech_final: flags.is_final,
      ...flags,
      channel: { alternatives: [{ transcript: text, confidence: text === '' ? 0 : 0.99, words: [] }] },
    });
    const deliver = () => {
      if (!options.isMute() && socket.readyState === socket.OPEN) socket.send(body);
    };
    if (options.delayMs) setTimeout(deliver, options.delayMs);
    else deliver();
  };
  const takeLine = () => lines[line++ % lines.length] ?? '';

  socket.on('close', () => {
    connection.isOpen = false;
  });
  const takeAudio = (audio: Buffer) => {
    connection.audioBytes += audio.length;
    const event = ear.hear(audio);
    if (event === 'speaking') send(firstWords(lines[line % lines.length] ?? '', ear.voicedMs), { is_final: false });
    if (event === 'ended') {
      send(takeLine(), { is_final: true });
      ear.reset();
    }
  };
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) {
      takeAudio(data);
      return;
    }
    const { type } = JSON.parse(String(data)) as { type: string };
    connection.messages.push(type);
    if (type === 'CloseStream') socket.close();
    if (type !== 'Finalize') return;
    send(ear.hasSpeech ? takeLine() : '', { is_final: true, from_finalize: true });
    ear.reset();
  });
}

/** As much of a line as may have been said in this time, at three words a second; at least its first. */
function firstWords(line: string, voicedMs: number): string {
  return line
    .split(' ')
    .slice(0, Math.max(1, Math.floor(voicedMs / 333)))
    .join(' ');
}
