/**
 * Reports wait here for their turn: those of one session are stored strictly one after another, and what is
 * told of it within a moment is stored together. Nothing is acknowledged before it is stored, so what waits
 * here is still in its worker's spool.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { DurableReport, ReportEnvelope } from '#protocol/worker-link.ts';
import type { WorkerConnection } from './worker-connection.ts';

/** Within this time a turn tells several things; nobody waits for any of them. */
const HOLD_MS = 200;

/** A report and who told it. */
export interface ToldReport {
  readonly worker: WorkerConnection;
  readonly envelope: ReportEnvelope;
}

interface SessionReports {
  waiting: ToldReport[];
  timer: Timer | null;
  stored: Promise<void>;
}

/** The reports of all sessions. */
export class ReportQueue {
  readonly #clock: Clock;
  readonly #store: (reports: readonly ToldReport[]) => Promise<void>;
  readonly #sessions = new Map<string, SessionReports>();

  /** `store` gets reports of one session in the order they came, and never rejects. */
  constructor(clock: Clock, store: (reports: readonly ToldReport[]) => Promise<void>) {
    this.#clock = clock;
    this.#store = store;
  }

  add(report: ToldReport): void {
    const sessionId = report.envelope.session_id;
    const session = this.#sessions.get(sessionId) ?? { waiting: [], timer: null, stored: Promise.resolve() };
    this.#sessions.set(sessionId, session);
    session.waiting.push(report);
    if (mayWait(report.envelope.report))
      session.timer ??= this.#clock.after(HOLD_MS, () => this.#storeWaiting(sessionId, session));
    else this.#storeWaiting(sessionId, session);
  }

  /** Resolves once everything told so far is stored. */
  async settled(): Promise<void> {
    for (const [sessionId, session] of this.#sessions) this.#storeWaiting(sessionId, session);
    await Promise.all([...this.#sessions.values()].map((session) => session.stored));
  }

  /** Forgets what waits, as its workers still have it; resolves when what was being stored is. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const session of sessions) {
      session.timer?.cancel();
      session.waiting = [];
    }
    await Promise.all(sessions.map((session) => session.stored));
  }

  #storeWaiting(sessionId: string, session: SessionReports): void {
    session.stored = session.stored.then(async () => {
      session.timer?.cancel();
      session.timer = null;
      const reports = session.waiting;
      session.waiting = [];
      if (reports.length > 0) await this.#store(reports);
      if (session.waiting.length === 0 && this.#sessions.get(sessionId) === session)
        this.#sessions.delete(sessionId);
    });
  }
}

/**
 * True of what is only read later; what moves a session on, or lets another worker take it over, is stored at
 * once.
 */
function mayWait({ type }: DurableReport): boolean {
  return (
    type === 'items' ||
    type === 'turn' ||
    type === 'silence' ||
    type === 'usage' ||
    type === 'recording' ||
    type === 'media'
  );
}
