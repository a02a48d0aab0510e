/**
 * The data channel `events` of a web leg: text messages both ways, kept until the channel opens, bounded both
 * ways.
 */
import type { DataChannel } from '../webrtc/webrtc-api.ts';

/** Name of the channel the client creates in its offer. */
export const EVENT_CHANNEL = 'events';
/** Messages kept for a channel that is not open yet; the oldest go first. */
const MAX_WAITING = 256;
/** A client that does not read is not fed further. */
const MAX_BUFFERED_BYTES = 1 << 20;
/** Longest message taken from a client, in UTF-16 units (or bytes, in a room). */
export const MAX_MESSAGE_LENGTH = 1 << 18;

/** What happens on the channel. */
export interface EventChannelListener {
  /** Whether the client may say this much now. */
  readonly mayPass: (length: number) => boolean;
  readonly onMessage: (text: string) => void;
  /** The far end closed the channel. */
  readonly onClosed: () => void;
}

/** One leg's channel, whether the client has opened it yet or not. */
export class EventChannel {
  readonly #listener: EventChannelListener;
  #channel: DataChannel | null = null;
  #waiting: string[] = [];

  constructor(listener: EventChannelListener) {
    this.#listener = listener;
  }

  /** Takes the channel the client created; a second one of the name replaces it. */
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

  /** Sends one message, now or when the channel opens. */
  send(text: string): void {
    this.#waiting.push(text);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#flush();
  }

  /** Closes our side; `onClosed` is not called for it. */
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

/** False: the far end is closing the channel, which the library knows before its `readyState` says so. */
function sent(channel: DataChannel, text: string): boolean {
  try {
    channel.send(text);
    return true;
  } catch {
    return false;
  }
}
