/** `Bell`: tells the parts of one control plane that there may be work for them, so that nobody waits for the next sweep. Losing a ring costs time, never work. */

/** What there may be work for. */
export type Chore = 'deliveries' | 'analysis' | 'agent-tests' | 'batch-calls' | 'rooms';

/** Rings and listens; a listener's error is its own affair. */
export interface Bell {
  ring(chore: Chore): void;
  /** Returns what stops listening. */
  on(chore: Chore, listener: () => void): () => void;
}

/** Makes the bell of a process. */
export function createBell(): Bell {
  const listeners = new Map<Chore, Set<() => void>>();
  return {
    ring: (chore) => {
      for (const listener of listeners.get(chore) ?? []) listener();
    },
    on: (chore, listener) => {
      const set = listeners.get(chore) ?? new Set();
      listeners.set(chore, set.add(listener));
      return () => set.delete(listener);
    },
  };
}
