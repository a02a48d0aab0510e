/**
 * Hands a session's new deliveries to the deliverer of this process, before or after they are stored. They
 * are stored as leased; in the end those that were not sent are given back.
 */

import type { FirstAttempt } from '../../platform/background/first-attempts.ts';
import { type Context, now } from '../../platform/context.ts';
import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** The deliveries of one run of the relay that this process sends. */
export class HandOver {
  readonly #context: Pick<Context, 'models' | 'clock' | 'workSignals' | 'firstAttempts'>;
  readonly #attempts = new Map<DeliveryDocument, FirstAttempt>();
  readonly #relayed = Promise.withResolvers<void>();

  constructor(context: Pick<Context, 'models' | 'clock' | 'workSignals' | 'firstAttempts'>) {
    this.#context = context;
  }

  /** Returns the delivery to store: leased if it is due and a slot is free. */
  lease(delivery: DeliveryDocument): DeliveryDocument {
    const attempt = delivery.state === 'pending' ? this.#context.firstAttempts.reserve(delivery) : null;
    if (!attempt) return delivery;
    const leased = { ...delivery, ...attempt.lease };
    this.#attempts.set(leased, attempt);
    return leased;
  }

  /** The store refused this delivery. Does nothing once it is being sent. */
  withdraw(leased: DeliveryDocument): void {
    this.#attempts.get(leased)?.release();
    this.#attempts.delete(leased);
  }

  /**
   * Sends the deliveries leased so far. They need not be stored yet: their outcomes are, after `markStored`
   * or `end`.
   */
  begin(session: SessionDocument): void {
    for (const [leased, attempt] of this.#attempts) attempt.begin(leased, session, this.#relayed.promise);
    this.#attempts.clear();
  }

  /** The deliveries being sent are stored, or refused for good: their outcomes need not wait for `end`. */
  markStored(): void {
    this.#relayed.resolve();
  }

  /** Ends the run. Deliveries that were stored and not sent are due again, for any process. */
  async end(): Promise<void> {
    this.markStored();
    const { models, workSignals } = this.#context;
    const leased = [...this.#attempts.keys()];
    if (leased.length === 0) return;
    for (const delivery of leased) this.withdraw(delivery);
    const stored = {
      _id: { $in: leased.map(({ _id }) => _id) },
      lease: { $in: leased.map(({ lease }) => lease) },
    };
    const due = { lease: null, attempts: 0, next_at: now(this.#context) };
    await models.deliveries.updateMany(stored, { $set: due });
    workSignals.notify('deliveries');
  }
}
