/**
 * A synthesis with a socket of its own: sends everything at once, reads audio until the vendor reports the
 * end, and closes the socket.
 */
import type { Clock } from '#base/clock.ts';
import type { SpeechChunk } from '../../speech.ts';
import { ChunkQueue } from './chunk-queue.ts';
import type { VendorSocket } from './vendor-socket.ts';
import type { TakenSocket, WarmSockets } from './warm-sockets.ts';

/** One synthesis in a vendor's protocol. */
export interface SocketSpeech {
  readonly vendor: string;
  readonly url: URL;
  /** Sent in order. */
  readonly messages: readonly string[];
  /** Whether this text of the vendor is the one before which it takes no message. Absent: there is none. */
  readonly isGreeting?: (text: string) => boolean;
  /** Sent before the socket is closed, if the vendor expects it. */
  readonly farewell?: string;
  /** Passes messages to the queue, and ends or fails it. Created again if a dead spare is replaced. */
  createReader(queue: ChunkQueue): SpeechReader;
}

/** Reads what the vendor sends for one synthesis. */
export interface SpeechReader {
  onText(text: string): void;
  onBinary?(bytes: Buffer): void;
  /** True if nothing is missing when the vendor closes the connection now. Absent: something is. */
  isComplete?(): boolean;
  /** The synthesis is over. */
  close?(): void;
}

interface Conversation {
  readonly socket: VendorSocket;
  readonly reader: SpeechReader;
}

/** Speaks; throws `SpeechError`, or the signal's reason as soon as it is aborted. */
export async function* speakOverSocket(
  speech: SocketSpeech,
  {
    sockets,
    clock,
    signal,
  }: { readonly sockets: WarmSockets; readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<SpeechChunk> {
  signal.throwIfAborted();
  const taken = sockets.take(speech.url);
  const queue = new ChunkQueue(speech.vendor, clock);
  let current = talk(taken);

  function talk({ socket, wasSpare, early }: TakenSocket): Conversation {
    const reader = speech.createReader(queue);
    let mayAsk = speech.isGreeting === undefined;
    let hasAnswered = false;
    const ask = () => {
      for (const message of speech.messages) socket.send(message);
    };
    const read = (text: string) => {
      reader.onText(text);
      if (mayAsk || !speech.isGreeting?.(text)) return;
      mayAsk = true;
      ask();
    };
    socket.listener = {
      onText: (text) => {
        hasAnswered = true;
        read(text);
      },
      onBinary: (bytes) => {
        hasAnswered = true;
        reader.onBinary?.(bytes);
      },
      onFailed: (error) => {
        if (wasSpare && !hasAnswered) {
          reader.close?.();
          current = talk(sockets.fresh(speech.url));
        } else if (reader.isComplete?.()) queue.end();
        else queue.fail(error);
      },
    };
    if (mayAsk) ask();
    for (const text of early) read(text);
    return { socket, reader };
  }

  try {
    yield* queue.read(signal);
  } finally {
    current.reader.close?.();
    current.socket.close(speech.farewell);
  }
}
