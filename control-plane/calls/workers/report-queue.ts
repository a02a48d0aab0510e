/**
 * Queue of reports. Reports of one session are stored strictly in order, and those arriving within a short
 * time are stored together. Reports are acknowledged only once stored, so queued ones are still in their
 * worker's spool.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { DurableReport, ReportEnvelope } from '#protocol/worker-link.ts';
import type { WorkerConnection } from './worker-connection.ts';

/** A turn sends several reports within this time, and none of them is urgent. */
const HOLD_MS = 200;
/** Reports of all sessions are stored at multiples of this, so that several share a command to the store. */
const BEAT_MS = 50;

/** A report and the worker that sent it. */
export interface ReceivedReport {
  readonly worker: WorkerConnection;
  readonly envelope: ReportEnvelope;
}

interface SessionReports {
  waiting: ReceivedReport[];
  isHeld: boolean;
  stored: Promise<void>;
}

/** Sessions whose reports are stored together. */
interface Beat {
  readonly timer: Timer;
  readonly held: (readonly [sessionId: string, session: SessionReports])[];
}

/** Queue for the reports of all sessions. */
export class ReportQueue {
  readonly #clock: Clock;
  readonly #store: (reports: readonly ReceivedReport[]) => Promise<void>;
  readonly #sessions = new Map<string, SessionReports>();
  /** By their number since the clock's beginning. */
  readonly #beats = new Map<number, Beat>();

  /** `store` receives the reports of one session in order of arrival and never rejects. */
  constructor(clock: Clock, store: (reports: readonly ReceivedReport[]) => Promise<void>) {
    this.#clock = clock;
    this.#store = store;
  }

  add(report: ReceivedReport): void {
    const sessionId = report.envelope.session_id;
    const session = this.#sessions.get(sessionId) ?? {
      waiting: [],
      isHeld: false,
      stored: Promise.resolve(),
    };
    this.#sessions.set(sessionId, session);
    session.waiting.push(report);
    if (!mayWait(report.envelope.report)) this.#storeWaiting(sessionId, session);
    else if (!session.isHeld) this.#hold(sessionId, session);
  }

  /** Resolves once all reports received so far are stored. */
  async whenStored(): Promise<void> {
    for (const [sessionId, session] of this.#sessions) this.#storeWaiting(sessionId, session);
    await Promise.all([...this.#sessions.values()].map((session) => session.stored));
  }

  /**
   * Drops queued reports, which their workers still have; resolves when the store in progress has finished.
   */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const { timer } of this.#beats.values()) timer.cancel();
    this.#beats.clear();
    for (const session of sessions) session.waiting = [];
    await Promise.all(sessions.map((session) => session.stored));
  }

  #hold(sessionId: string, session: SessionReports): void {
    session.isHeld = true;
    const nowMs = this.#clock.now();
    const number = Math.floor((nowMs + HOLD_MS) / BEAT_MS);
    const beat = this.#beats.get(number);
    if (beat) beat.held.push([sessionId, session]);
    else {
      const held: Beat['held'] = [[sessionId, session]];
      const timer = this.#clock.after(number * BEAT_MS - nowMs, () => {
        this.#beats.delete(number);
        for (const [id, each] of held) if (each.isHeld) this.#storeWaiting(id, each);
      });
      this.#beats.set(number, { timer, held });
    }
  }

  #storeWaiting(sessionId: string, session: SessionReports): void {
    session.stored = session.stored.then(async () => {
      session.isHeld = false;
      const reports = session.waiting;
      session.waiting = [];
      if (reports.length > 0) await this.#store(reports);
      if (session.waiting.length === 0 && this.#sessions.get(sessionId) === session)
        this.#sessions.delete(sessionId);
    });
  }
}

/**
 * True for reports that are only read later. Reports that change the session's status or are needed for a
 * failover are stored at once.
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
