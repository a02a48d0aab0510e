/**
 * Tracks how much of each reply in progress the caller has heard, from the live captions. If the worker dies,
 * this is the only record of the reply.
 */
import type { Clock } from '#base/clock.ts';
import type { HeardSoFar } from '../../platform/dispatch.ts';

/** Tracks the current replies, by session. */
export class SpeakingAgents {
  readonly #clock: Clock;
  readonly #speaking = new Map<string, HeardSoFar>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Processes a live event of a session. */
  follow(sessionId: string, event: Readonly<Record<string, unknown>>): void {
    const { type, role, text, final } = event;
    // Not by a schema: that costs more than all the rest, some thousand times a second.
    if (type !== 'transcript' || role !== 'agent') return;
    if (typeof text !== 'string' || typeof final !== 'boolean') return;
    if (final || text === '') this.#speaking.delete(sessionId);
    else
      this.#speaking.set(sessionId, {
        text,
        atMs: this.#speaking.get(sessionId)?.atMs ?? this.#clock.wallTime(),
      });
  }

  heardSoFar(sessionId: string): HeardSoFar | null {
    return this.#speaking.get(sessionId) ?? null;
  }

  /** Removes a session that has ended. */
  forget(sessionId: string): void {
    this.#speaking.delete(sessionId);
  }
}
