/**
 * Tells the background loops of one control plane that there may be work, so that none waits for its next
 * sweep. Losing a signal costs time, never work.
 */

/** What there may be work for. */
export type Chore = 'deliveries' | 'analysis' | 'agent-tests' | 'batch-calls' | 'rooms';

/** Sends signals and listens for them; listeners handle their own errors. */
export interface WorkSignals {
  notify(chore: Chore): void;
  /** Returns what stops listening. */
  on(chore: Chore, listener: () => void): () => void;
}

/** Makes the signals of a process. */
export function createWorkSignals(): WorkSignals {
  const listeners = new Map<Chore, Set<() => void>>();
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
