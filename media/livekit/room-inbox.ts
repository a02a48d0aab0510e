/**
 * The caller's messages in a room, on their way to the call loop: rate-limited, and held until the caller has
 * come.
 */
import type { MediaShared } from '../leg/leg-audio.ts';
import { createMessageGate, type MessageGate } from '../leg/message-gate.ts';

/** Takes the messages of one caller. */
export class RoomInbox {
  readonly #gate: MessageGate;
  readonly #onMessage: (text: string) => void;
  readonly #kept: string[] = [];
  #isOpen = false;
  #hasBeenOpen = false;

  constructor(shared: Pick<MediaShared, 'clock' | 'log'>, onMessage: (text: string) => void) {
    this.#gate = createMessageGate(shared);
    this.#onMessage = onMessage;
  }

  /** Sets whether the caller is present; messages from before the first time are then passed on in order. */
  setOpen(isOpen: boolean): void {
    this.#isOpen = isOpen;
    this.#hasBeenOpen ||= isOpen;
    if (isOpen) for (const text of this.#kept.splice(0)) this.#onMessage(text);
  }

  /**
   * `isFromCaller` is null while the sender is unknown: data may arrive before the event of its sender
   * joining, or after that of its leaving, and only the caller may send data.
   */
  take(payload: Uint8Array, isFromCaller: boolean | null): void {
    if (!(isFromCaller ?? !this.#isOpen) || !this.#gate.passes(payload.length)) return;
    const text = new TextDecoder().decode(payload);
    if (this.#hasBeenOpen) this.#onMessage(text);
    else this.#kept.push(text);
  }
}
