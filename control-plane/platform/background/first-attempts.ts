/**
 * Hands new webhook deliveries from the relay to this process's deliverer, which sends them without searching
 * the store for them first. A delivery is stored as already leased, while it is being sent or before: if the
 * process is killed, the lease expires and any process sends it; if it was not stored yet, its event is still
 * in the session's outbox.
 */
import type { DeliveryDocument } from '../store/models/delivery-model.ts';
import type { SessionDocument } from '../store/models/session-model.ts';

/** A slot reserved for a delivery that is not stored yet; ends with `begin` or `release`. */
export interface FirstAttempt {
  /** Must be stored with the delivery, so that no other process takes it. */
  readonly lease: Pick<DeliveryDocument, 'lease' | 'attempts' | 'next_at'>;
  /** Sends the delivery. Its outcome is stored after `relayed`: until then it may not be stored itself. */
  begin(delivery: DeliveryDocument, session: SessionDocument, relayed: Promise<void>): void;
  /** The delivery was not stored. */
  release(): void;
}

/** Reserves a slot; null if the delivery must wait for its turn in the store. */
type Reserve = (destination: Pick<DeliveryDocument, 'team_id' | 'url'>) => FirstAttempt | null;

/** The link between the relay and the deliverer of one process. */
export interface FirstAttempts {
  /** Null without a deliverer, too. */
  readonly reserve: Reserve;
  /** Sets the deliverer; returns a function that removes it. */
  serve(reserve: Reserve): () => void;
}

/** Creates the link. */
export function createFirstAttempts(): FirstAttempts {
  let current: Reserve | null = null;
  return {
    reserve: (destination) => current?.(destination) ?? null,
    serve: (reserve) => {
      current = reserve;
      return () => {
        if (current === reserve) current = null;
      };
    },
  };
}
