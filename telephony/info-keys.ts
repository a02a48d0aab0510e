/**
 * Keys as SIP INFO (`application/dtmf-relay`), for a peer that takes no telephone events and says that it takes
 * INFO. A peer that refuses the first one gets tones instead.
 */
import type { Clock } from '#base/clock.ts';
import { pressesOf } from '#config/telephone-keys.ts';
import { readRemote } from './sdp.ts';
import type { SipDialog } from './signalling.ts';

/** How long each key is said to be held, and the time until the next one, ms. */
const PRESS_MS = 100;
const NEXT_MS = 200;

/** What sending keys needs. */
export interface InfoKeysParts {
  readonly clock: Clock;
  readonly dialog: Pick<SipDialog, 'sendInfo'>;
  readonly onSent: (pressId: string) => void;
  /** The peer refuses INFO: these keys are still to be sent. */
  readonly onRefused: (digits: string, pressId: string | undefined) => void;
}

/** The keys of one call. */
export class InfoKeys {
  readonly #parts: InfoKeysParts;
  #dropping = new AbortController();
  #before: Promise<void> = Promise.resolve();
  #isRefused = false;

  constructor(parts: InfoKeysParts) {
    this.#parts = parts;
  }

  /** True once the peer has refused one. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Sends keys and pauses, after those before them. */
  press(digits: string, pressId: string | undefined): void {
    const { signal } = this.#dropping;
    this.#before = this.#before.then(() => this.#send(digits, pressId, signal)).catch(() => undefined);
  }

  /** Sends none of the keys that wait. */
  drop(): void {
    this.#dropping.abort();
    this.#dropping = new AbortController();
  }

  async #send(digits: string, pressId: string | undefined, signal: AbortSignal): Promise<void> {
    const { clock, dialog, onRefused, onSent } = this.#parts;
    const characters = [...digits];
    for (const [index, character] of characters.entries()) {
      const [press] = pressesOf(character);
      if (!press) continue;
      signal.throwIfAborted();
      if ('key' in press) {
        const body = `Signal=${press.key}\r\nDuration=${PRESS_MS}\r\n`;
        const status = this.#isRefused ? 405 : await dialog.sendInfo('application/dtmf-relay', body);
        if (isRefusal(status)) {
          this.#isRefused = true;
          signal.throwIfAborted();
          onRefused(characters.slice(index).join(''), pressId);
          return;
        }
        // Nobody knows whether the key arrived; twice would be another choice.
        if (status < 200 || status >= 300) return;
      }
      await clock.sleep('key' in press ? NEXT_MS : press.pauseMs, signal);
    }
    if (pressId !== undefined) onSent(pressId);
  }
}

/** A refusal of INFO, or of its body; no answer and an overload are none. */
function isRefusal(status: number): boolean {
  return status >= 400 && status !== 408 && status !== 480 && status !== 481 && status !== 503;
}

/** Whether a peer takes telephone events; true if its description cannot be read. */
export function takesEvents(sdp: string): boolean {
  try {
    return readRemote(sdp, { srtpKey: '' }).digitPayloadType !== null;
  } catch {
    return true;
  }
}
