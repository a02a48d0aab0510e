/** Dials the extension behind a person's number, before they are told anything or joined. */
import type { Clock } from '#base/clock.ts';
import { longestPressMs } from '#config/telephone-keys.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import { EXTENSION_PRESS } from '../tools/press-keys.ts';

/** Time for the leg to answer, beyond that of the keys: a line on hold takes none. */
const ANSWER_MS = 3_000;

/** One extension; receives the events of its leg. */
export class ExtensionPress {
  /** Resolves when the keys have been sent, cannot be, or the person has hung up. */
  readonly over: Promise<void>;
  readonly #settle: () => void;

  constructor({ clock, leg }: { readonly clock: Clock; readonly leg: Leg }, extension: string) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = clock.after(longestPressMs(extension) + ANSWER_MS, () => {
      leg.send({ do: 'dropDigits' });
      resolve();
    });
    this.#settle = () => {
      timer.cancel();
      resolve();
    };
    this.over = promise;
    leg.send({ do: 'sendDigits', digits: extension, pressId: EXTENSION_PRESS });
  }

  onLegEvent({ type }: LegEvent): void {
    if (type === 'digits.sent' || type === 'closed') this.#settle();
  }
}
