/** Cache of sessions as they were placed or as their last report left them: the next report reads nothing. */
import type { ReportEnvelope } from '#protocol/worker-link.ts';
import type { SessionHead } from './models/session-model.ts';

/**
 * Maximum number of cached calls per control plane, twice what one has to carry, at some tens of KiB each at
 * most; beyond it, the one that has not reported for longest is evicted.
 */
const MAX_SESSIONS = 4_000;

/** Cache of the sessions that send reports. */
export class ReportedSessions {
  readonly #sessions = new Map<string, SessionHead>();

  /**
   * Returns the cached session if this report is the next in sequence. Removes it from the cache until `keep`
   * is called.
   */
  take({ session_id: sessionId, epoch, seq }: ReportEnvelope): SessionHead | null {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    return session && session.epoch === epoch && session.last_seq + 1 === seq ? session : null;
  }

  /** Caches a session that was just stored. */
  keep(session: SessionHead): void {
    this.#sessions.set(session._id, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
  }

  /** A cached session was changed by something other than a report. */
  refresh(session: SessionHead): void {
    if (this.#sessions.has(session._id)) this.#sessions.set(session._id, session);
  }
}
