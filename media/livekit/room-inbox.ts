/**
 * Messages of the caller in a room on their way to the call loop: as many as may pass, and none before it is
 * known that the caller is there.
 */
import type { MediaShared } from '../leg/leg-audio.ts';
import { MessageGate } from '../leg/message-gate.ts';

/** Takes one caller's messages. */
export class RoomInbox {
  readonly #gate: MessageGate;
  readonly #onMessage: (text: string) => void;
  readonly #kept: string[] = [];
  #isOpen = false;

  constructor({ clock, log }: Pick<MediaShared, 'clock' | 'log'>, onMessage: (text: string) => void) {
    this.#gate = new MessageGate(clock, () => log('warn', 'a web client sends more messages than are taken'));
    this.#onMessage = onMessage;
  }

  /** The caller is there, or is not: what came before the news of it is passed on in order. */
  setOpen(isOpen: boolean): void {
    this.#isOpen = isOpen;
    if (isOpen) for (const text of this.#kept.splice(0)) this.#onMessage(text);
  }

  /**
   * `isFromCaller` is null while the sender is not known: data may overtake the news of who has come, and
   * nobody but the caller may send data.
   */
  take(payload: Uint8Array, isFromCaller: boolean | null): void {
    if (!(isFromCaller ?? !this.#isOpen) || !this.#gate.passes(payload.length)) return;
    const text = new TextDecoder().decode(payload);
    if (this.#isOpen) this.#onMessage(text);
    else this.#kept.push(text);
  }
}
