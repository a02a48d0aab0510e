/**
 * What a worker tells over its link, on its way into the socket: messages of one moment go in one write, and
 * a caption waits a little for those of other calls. The order is kept, but that a caption gives way to the
 * next one of its call, which says what it said and more.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock, Timer } from '#base/clock.ts';
import type { WorkerMessage } from '#protocol/worker-link.ts';

/**
 * A word of the agent is longer than this: should the worker die, the record of what was heard is still right
 * within one.
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

  /** Before the socket opens. */
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

  /** Sends what waits. A socket that is closed drops it. */
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

/** True of a caption that the next one replaces. */
function isPassing(message: WorkerMessage): message is Live {
  return message.type === 'live' && message.event['final'] === false;
}
