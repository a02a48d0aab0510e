/** Dials the extension behind a person's number, before they are told anything or joined. */
import type { Clock } from '#base/clock.ts';
import { longestPressMs } from '#config/telephone-keys.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import { EXTENSION_PRESS } from '../tools/press-keys.ts';

/** Time for the leg to answer, beyond that of the keys: a line on hold takes none. */
const ANSWER_MS = 3_000;

/** One extension; receives the events of its leg. */
export class ExtensionPress {
  /** Resolves when the keys have been sent, cannot be, are not wanted any more, or the person has hung up. */
  readonly over: Promise<void>;
  readonly #settle: () => void;

  constructor(
    { clock, leg, signal }: { readonly clock: Clock; readonly leg: Leg; readonly signal: AbortSignal },
    extension: string,
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const giveUp = () => {
      leg.send({ do: 'dropDigits' });
      this.#settle();
    };
    const timer = clock.after(longestPressMs(extension) + ANSWER_MS, giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    this.#settle = () => {
      timer.cancel();
      signal.removeEventListener('abort', giveUp);
      resolve();
    };
    this.over = promise;
    leg.send({ do: 'sendDigits', digits: extension, pressId: EXTENSION_PRESS });
  }

  onLegEvent({ type }: LegEvent): void {
    if (type === 'digits.sent' || type === 'closed') this.#settle();
  }
}
