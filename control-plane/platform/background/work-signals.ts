/**
 * Tells the background loops of one control plane that there may be work, so that they do not wait for their
 * next tick. A lost signal only causes a delay.
 */

/** Kinds of background work that can be signalled. */
export type WorkKind =
  | 'deliveries'
  | 'analysis'
  | 'agent-tests'
  | 'batch-calls'
  | 'rehearsals'
  | 'judged-turns'
  | 'rooms'
  | 'text-sessions'
  | 'sms'
  | 'sip-registrations';

/** Sends and receives signals; listeners handle their own errors. */
export interface WorkSignals {
  notify(chore: WorkKind): void;
  /** Returns a function that removes the listener. */
  on(chore: WorkKind, listener: () => void): () => void;
}

/** Creates the signals of one process. */
export function createWorkSignals(): WorkSignals {
  const listeners = new Map<WorkKind, Set<() => void>>();
  return {
    notify: (chore) => {
      for (const listener of listeners.get(chore) ?? []) listener();
    },
    on: (chore, listener) => {
      const set = listeners.get(chore) ?? new Set();
      listeners.set(chore, set.add(listener));
      return () => set.delete(listener);
    },
  };
}
