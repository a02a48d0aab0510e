/**
 * A stand-in for Deepgram's live recognition. The bench passes it each line when the caller starts to speak
 * it. The stand-in finds the voice in the audio it receives and returns the words spoken so far. It supports
 * `endpointing` and `vad_events`, whichever side requests them. Several calls may be up at a time: the bench
 * announces each before it starts it, and the next connection is that call's (`calls-of-sockets.ts`).
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { CallsOfSockets } from './calls-of-sockets.ts';

const BLOCK_MS = 10;
/** Loudness of voice on a quiet line. */
const VOICED_RMS = 200;
const MIN_VOICED_MS = 40;
const INTERIM_EVERY_MS = 200;
/** A word counts as spoken this long before its end. */
const EARLY_MS = 80;
/** Voice after this much silence starts a standing cue again. */
const AGAIN_AFTER_MS = 500;
/**
 * If a cue arrives up to this long after its voice began, the line starts at the beginning of that voice: on
 * a busy machine the cue arrives later than the audio.
 */
const LATE_CUE_MS = 500;
/** Deepgram's default. */
const DEFAULT_ENDPOINTING_MS = 10;

/** A word and its end, ms from the beginning of its line. */
export interface CuedWord {
  readonly text: string;
  readonly endMs: number;
}

/** A running stand-in. */
export interface CuedRecogniser {
  readonly url: string;
  /** The next connection belongs to this call. What is softer than `voicedRms` is not its caller's voice. */
  expect(call: string, voicedRms?: number): void;
  /**
   * Sets the line that the caller starts to speak. A cue without words is a sound. A standing cue repeats.
   * Without a call it applies to every connection from now on, and calls are no longer told apart.
   */
  cue(call: string | null, cue: Cue): void;
  /** Lines of calls whose voice it has not heard. A line that is spoken at the moment may be among them. */
  readonly unheard: number;
  /** While true, the stand-in accepts audio and sends no messages. */
  isMute: boolean;
  /** Breaks every open connection without a closing handshake. */
  cut(): void;
  close(): void;
}

/** A line as passed to the recogniser. */
export interface Cue {
  readonly words: readonly CuedWord[];
  readonly isStanding: boolean;
}

/**
 * Starts the stand-in on a free port. Every message is sent `delayMs` after the audio it describes.
 * `onConnected` gets the call of each new connection.
 */
export async function startCuedRecogniser({
  delayMs,
  onConnected,
}: {
  readonly delayMs: number;
  readonly onConnected?: (call: string) => void;
}): Promise<CuedRecogniser> {
  const http = createServer((_request, response) => response.writeHead(404).end());
  // Deepgram's speech synthesis is not implemented: requests for it are rejected at once.
  const sockets = new WebSocketServer({ server: http, path: '/v1/listen' });
  const calls = new CallsOfSockets<Cue>({ words: [], isStanding: false });
  const loudness = new Map<string, number>();
  const unheard = new Set<Cue>();
  let isMute = false;
  sockets.on('connection', (socket, request) => {
    const call = calls.connected();
    const ear = new CuedEar({
      query: new URL(request.url ?? '/', 'ws://stand-in').searchParams,
      cue: () => calls.cueOf(call),
      voicedRms: loudness.get(call ?? '') ?? VOICED_RMS,
      onHeard: (cue) => unheard.delete(cue),
    });
    socket.once('close', () => calls.closed(call));
    if (call !== null) onConnected?.(call);
    const deliver = (message: object) =>
      setTimeout(() => {
        if (!isMute && socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
      }, delayMs);
    attend(socket, ear, deliver);
  });
  const cut = () => {
    for (const socket of sockets.clients) socket.terminate();
  };
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}`,
    expect(call, voicedRms = VOICED_RMS) {
      loudness.set(call, voicedRms);
      calls.expect(call);
    },
    cue(call, cue) {
      if (call !== null && cue.words.length > 0) unheard.add(cue);
      calls.cue(call, cue);
    },
    get unheard() {
      return unheard.size;
    },
    get isMute() {
      return isMute;
    },
    set isMute(value) {
      isMute = value;
    },
    cut,
    close: () => {
      cut();
      http.close();
    },
  };
}

function attend(socket: WebSocket, ear: CuedEar, deliver: (message: object) => void): void {
  socket.on('error', () => undefined);
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) {
      for (const message of ear.hear(data)) deliver(message);
      return;
    }
    const { type } = JSON.parse(String(data)) as { type: string };
    if (type === 'Finalize') deliver(ear.finalise());
    if (type === 'CloseStream') socket.close();
  });
}

interface EarOptions {
  readonly query: URLSearchParams;
  readonly cue: () => Cue;
  readonly voicedRms: number;
  /** The voice of a line has begun. */
  readonly onHeard: (cue: Cue) => void;
}

/** State of one connection: receives audio, returns Deepgram's messages. */
class CuedEar {
  readonly #voicedRms: number;
  readonly #onHeard: (cue: Cue) => void;
  readonly #requestId = randomUUID();
  readonly #cue: () => Cue;
  readonly #blockBytes: number;
  readonly #endpointingMs: number;
  readonly #tellsStarts: boolean;
  #rest = Buffer.alloc(0);
  #heardMs = 0;
  #silentMs = 0;
  /** Voiced audio since the last final. */
  #voicedMs = 0;
  /** Start of the current or most recent voice. */
  #voiceStartMs = 0;
  #reportedMs = 0;
  #finalMs = 0;
  #line: { readonly cue: Cue; readonly startMs: number; given: number } | null = null;

  constructor({ query, cue, voicedRms, onHeard }: EarOptions) {
    this.#cue = cue;
    this.#voicedRms = voicedRms;
    this.#onHeard = onHeard;
    this.#blockBytes = (Number(query.get('sample_rate') ?? 16_000) * 2 * BLOCK_MS) / 1_000;
    const endpointing = query.get('endpointing');
    this.#endpointingMs =
      endpointing === 'false' ? Number.POSITIVE_INFINITY : Number(endpointing ?? DEFAULT_ENDPOINTING_MS);
    this.#tellsStarts = query.get('vad_events') === 'true';
  }

  hear(audio: Buffer): object[] {
    this.#rest = Buffer.concat([this.#rest, audio]);
    const messages: object[] = [];
    let at = 0;
    for (; at + this.#blockBytes <= this.#rest.length; at += this.#blockBytes) {
      const message = this.#hearBlock(this.#rest.subarray(at, at + this.#blockBytes));
      if (message) messages.push(message);
    }
    this.#rest = this.#rest.subarray(at);
    return messages;
  }

  finalise(): object {
    return this.#result({ is_final: true, speech_final: false, from_finalize: true });
  }

  #hearBlock(block: Buffer): object | null {
    this.#heardMs += BLOCK_MS;
    if (rmsOf(block) < this.#voicedRms) {
      this.#silentMs += BLOCK_MS;
      const hasEnded = this.#voicedMs >= MIN_VOICED_MS && this.#silentMs >= this.#endpointingMs;
      return hasEnded ? this.#result({ is_final: true, speech_final: true }) : null;
    }
    const cue = this.#cue();
    const isAgain = cue.isStanding && this.#silentMs >= AGAIN_AFTER_MS;
    if (this.#silentMs > 0) this.#voiceStartMs = this.#heardMs - BLOCK_MS;
    this.#silentMs = 0;
    if (this.#line?.cue !== cue || isAgain) {
      const isLate = this.#heardMs - this.#voiceStartMs <= LATE_CUE_MS;
      this.#line = { cue, startMs: isLate ? this.#voiceStartMs : this.#heardMs - BLOCK_MS, given: 0 };
      this.#onHeard(cue);
    }
    this.#voicedMs += BLOCK_MS;
    if (this.#voicedMs === MIN_VOICED_MS && this.#tellsStarts)
      return { type: 'SpeechStarted', channel: [0, 1], timestamp: (this.#heardMs - MIN_VOICED_MS) / 1_000 };
    if (this.#voicedMs - this.#reportedMs < INTERIM_EVERY_MS) return null;
    this.#reportedMs = this.#voicedMs;
    return this.#result({ is_final: false, speech_final: false });
  }

  #result(flags: {
    readonly is_final: boolean;
    readonly speech_final: boolean;
    readonly from_finalize?: boolean;
  }): object {
    const startMs = this.#line?.startMs ?? 0;
    const saidMs = this.#heardMs - this.#silentMs - startMs + EARLY_MS;
    const given = this.#line?.given ?? 0;
    // A final includes a word whose end is too quiet to count as voice, such as a final "s".
    const isSaid = ({ endMs }: CuedWord, beginMs: number) =>
      (flags.is_final ? (beginMs + endMs) / 2 : endMs) <= saidMs;
    const words = (this.#line?.cue.words ?? []).filter(
      (word, index, all) => index >= given && isSaid(word, all[index - 1]?.endMs ?? 0),
    );
    const body = {
      type: 'Results',
      channel_index: [0, 1],
      start: this.#finalMs / 1_000,
      duration: (this.#heardMs - this.#finalMs) / 1_000,
      ...flags,
      metadata: { request_id: this.#requestId },
      channel: {
        alternatives: [
          {
            transcript: words.map(({ text }) => text).join(' '),
            confidence: words.length === 0 ? 0 : 0.99,
            words: words.map(({ text, endMs }, index) => ({
              word: text.toLowerCase().replace(/[^\w']/g, ''),
              punctuated_word: text,
              start: (startMs + (words[index - 1]?.endMs ?? Math.max(0, endMs - 300))) / 1_000,
              end: (startMs + endMs) / 1_000,
              confidence: 0.99,
            })),
          },
        ],
      },
    };
    if (flags.is_final) {
      if (this.#line) this.#line.given += words.length;
      this.#voicedMs = 0;
      this.#reportedMs = 0;
      this.#finalMs = this.#heardMs;
    }
    return body;
  }
}

function rmsOf(block: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < block.length; at += 2) sum += block.readInt16LE(at) ** 2;
  return Math.sqrt(sum / (block.length / 2));
}
