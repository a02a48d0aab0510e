/**
 * Outgoing messages of a worker link: messages of one moment share one write, and captions wait briefly for
 * those of other calls. Order is kept, except that a caption is replaced by the next one of its call, which
 * repeats its text and adds to it.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock, Timer } from '#base/clock.ts';
import type { WorkerMessage } from '#protocol/worker-link.ts';

/**
 * Shorter than a spoken word: if the worker dies, the record of what was heard is right to within one word.
 */
const CAPTION_WAIT_MS = 100;

type Live = Extract<WorkerMessage, { type: 'live' }>;

/** The messages of one connection. */
export class LinkOutbox {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  #tcp: Socket | null = null;
  #waiting: WorkerMessage[] = [];
  #isAboutToSend = false;
  #timer: Timer | null = null;

  /** Created before the socket opens. */
  constructor(socket: WebSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    socket.once('upgrade', (response) => {
      this.#tcp = response.socket;
    });
  }

  put(message: WorkerMessage): void {
    if (message.type === 'live')
      this.#waiting = this.#waiting.filter(
        (other) => !(isPassing(other) && other.session_id === message.session_id),
      );
    this.#waiting.push(message);
    if (isPassing(message)) this.#timer ??= this.#clock.after(CAPTION_WAIT_MS, () => this.flush());
    else if (!this.#isAboutToSend) {
      this.#isAboutToSend = true;
      queueMicrotask(() => this.flush());
    }
  }

  /** Sends what is waiting; a closed socket drops it. */
  flush(): void {
    this.#isAboutToSend = false;
    this.#timer?.cancel();
    this.#timer = null;
    const messages = this.#waiting;
    this.#waiting = [];
    this.#tcp?.cork();
    for (const message of messages) this.#socket.send(JSON.stringify(message));
    this.#tcp?.uncork();
  }
}

/** True for a caption that the next one replaces. */
function isPassing(message: WorkerMessage): message is Live {
  return message.type === 'live' && message.event['final'] === false;
}
