/**
 * Outgoing messages of a room leg: sent in order once the caller can hear. The agent's state is set at once,
 * and again after each reconnection.
 */
import type { Room, TextStreamWriter } from '@livekit/rtc-node';
import type { MediaShared } from '../leg/leg-audio.ts';
import {
  AGENT_EVENTS,
  type RoomMessage,
  RoomMessages,
  segmentAttributes,
  TRANSCRIPTION,
} from './room-messages.ts';

/** Most messages that wait for the caller or the network; newer ones are dropped. */
const MAX_WAITING = 256;

/** What the outbox needs of its leg. */
export interface RoomOutboxOptions {
  readonly room: Room;
  readonly callerIdentity: string;
  readonly log: MediaShared['log'];
  /** Resolves once the caller can hear: earlier messages would be lost. */
  readonly heard: Promise<void>;
}

/** Sends one leg's messages. */
export class RoomOutbox {
  readonly #options: RoomOutboxOptions;
  readonly #messages = new RoomMessages();
  readonly #streams = new Map<string, TextStreamWriter>();
  #outgoing: Promise<void>;
  #waiting = 0;
  /** The agent's state as last set. */
  #state: RoomMessage | null = null;
  #isReconnecting = false;
  #isClosed = false;

  constructor(options: RoomOutboxOptions) {
    this.#options = options;
    this.#outgoing = options.heard;
  }

  /** Resolves once the messages so far are sent. */
  get flushed(): Promise<void> {
    return this.#outgoing;
  }

  /** Sends a message of the call loop. */
  send(json: string): void {
    const message = this.#messages.route(json);
    if (!message) return;
    // The state persists: a caller who joins later reads it.
    if (message.as === 'attribute') {
      this.#state = message;
      this.#setState();
    } else if (this.#waiting < MAX_WAITING) {
      this.#waiting++;
      this.#outgoing = this.#outgoing
        .then(() => this.#deliver(message))
        .catch((error: unknown) => this.#undelivered(error))
        .finally(() => {
          this.#waiting--;
        });
    }
  }

  /**
   * A restarted server has lost the state. Until the connection is back it waits, because a state announces
   * data to the client.
   */
  setReconnecting(isReconnecting: boolean): void {
    this.#isReconnecting = isReconnecting;
    this.#setState();
  }

  /** Failures are expected from now on. */
  close(): void {
    this.#isClosed = true;
  }

  #setState(): void {
    if (this.#state && !this.#isReconnecting)
      this.#deliver(this.#state).catch((error: unknown) => this.#undelivered(error));
  }

  #undelivered(error: unknown): void {
    if (!this.#isClosed) this.#options.log('warn', 'a message could not be delivered to the room', error);
  }

  async #deliver(message: RoomMessage): Promise<void> {
    const self = this.#options.room.localParticipant;
    if (!self) return;
    switch (message.as) {
      case 'attribute':
        return self.setAttributes({ ...message.attributes });
      case 'data':
        return self.publishData(new TextEncoder().encode(message.json), {
          reliable: true,
          topic: AGENT_EVENTS,
        });
      case 'text.part': {
        const { segmentId, text } = message;
        const stream =
          this.#streams.get(segmentId) ??
          (await self.streamText({ topic: TRANSCRIPTION, attributes: segmentAttributes(segmentId, false) }));
        this.#streams.set(segmentId, stream);
        return stream.write(text);
      }
      case 'text.whole': {
        const { segmentId, role, text, isFinal } = message;
        await this.#streams.get(segmentId)?.close();
        this.#streams.delete(segmentId);
        const sender = role === 'user' ? { senderIdentity: this.#options.callerIdentity } : {};
        const stream = await self.streamText({
          topic: TRANSCRIPTION,
          attributes: segmentAttributes(segmentId, isFinal),
          ...sender,
        });
        await stream.write(text);
        return stream.close();
      }
      default:
        return message satisfies never;
    }
  }
}
