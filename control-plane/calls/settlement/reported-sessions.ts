/**
 * Sessions as their last report left them, so that the next one need not read them again; losing one costs a
 * read.
 */
import type { ReportEnvelope } from '#protocol/worker-link.ts';
import type { SessionHead } from '../sessions/session-store.ts';

/**
 * Calls of one control plane that are worth remembering; beyond, the one longest without a report is read
 * again.
 */
const MOST = 1_000;

/** What is remembered of the sessions that report. */
export class ReportedSessions {
  readonly #sessions = new Map<string, SessionHead>();

  /** The session a report follows on, if it is the very next one; forgotten until it is kept again. */
  take({ session_id: sessionId, epoch, seq }: ReportEnvelope): SessionHead | null {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    return session && session.epoch === epoch && session.last_seq + 1 === seq ? session : null;
  }

  /** Remembers a session as it was just stored. */
  keep(session: SessionHead): void {
    this.#sessions.set(session._id, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MOST && oldest !== undefined) this.#sessions.delete(oldest);
  }
}
