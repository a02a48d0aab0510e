/**
 * The data channel `events` of a web leg: text messages in both directions. Outgoing ones are queued until
 * the channel opens; both directions are bounded.
 */
import type { DataChannel } from './webrtc-api.ts';

/** Name of the channel that the client creates in its offer. */
export const EVENT_CHANNEL = 'events';
/** Most messages queued before the channel opens; the oldest are dropped. */
const MAX_WAITING = 256;
/** Stops sending to a client that does not read. */
const MAX_BUFFERED_BYTES = 1 << 20;

/** Events of the channel. */
export interface EventChannelListener {
  /** Whether the client is within its rate limit. */
  readonly mayPass: (length: number) => boolean;
  readonly onMessage: (text: string) => void;
  /** The peer closed the channel. */
  readonly onClosed: () => void;
}

/** The channel of one leg, before and after the client opens it. */
export class EventChannel {
  readonly #listener: EventChannelListener;
  #channel: DataChannel | null = null;
  #waiting: string[] = [];

  constructor(listener: EventChannelListener) {
    this.#listener = listener;
  }

  /** Sets the channel the client created; a second one of that name replaces it. */
  attach(channel: DataChannel): void {
    const before = this.#channel;
    this.#channel = channel;
    before?.close();
    channel.onmessage = ({ data }) => {
      if (typeof data === 'string' && this.#listener.mayPass(data.length)) this.#listener.onMessage(data);
    };
    channel.onclose = () => {
      if (this.#channel === channel) this.#listener.onClosed();
    };
    channel.onopen = () => this.#flush();
    this.#flush();
  }

  /** Sends a message, now or when the channel opens. */
  send(text: string): void {
    this.#waiting.push(text);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#flush();
  }

  /** Closes our side without calling `onClosed`. */
  close(): void {
    const channel = this.#channel;
    this.#channel = null;
    channel?.close();
  }

  #flush(): void {
    const channel = this.#channel;
    if (channel?.readyState !== 'open') return;
    for (const text of this.#waiting.splice(0)) {
      if (channel.bufferedAmount <= MAX_BUFFERED_BYTES && !sent(channel, text)) return;
    }
  }
}

/** False: the peer is closing the channel, which the library knows before `readyState` shows it. */
function sent(channel: DataChannel, text: string): boolean {
  try {
    channel.send(text);
    return true;
  } catch {
    return false;
  }
}
