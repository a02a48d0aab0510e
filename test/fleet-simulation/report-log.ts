/** The reports that workers sent, and those they were told are stored. */
import type { ControlMessage, DurableReport } from '#protocol/worker-link.ts';
import type { Job } from '#runtime/worker/job-table.ts';
import type { Reports } from './fleet-invariants.ts';

/** Keeps both by `<session>:<epoch>`. */
export class ReportLog implements Reports {
  readonly sent = new Map<string, DurableReport[]>();
  /** Highest acknowledged report. */
  readonly acknowledged = new Map<string, number>();

  /** Returns the key. */
  add({ sessionId, epoch }: Pick<Job, 'sessionId' | 'epoch'>, report: DurableReport): string {
    const key = `${sessionId}:${epoch}`;
    const reports = this.sent.get(key);
    if (reports) reports.push(report);
    else this.sent.set(key, [report]);
    return key;
  }

  /** Returns the key. */
  acknowledge({ session_id, epoch, seq }: Extract<ControlMessage, { type: 'ack' }>): string {
    const key = `${session_id}:${epoch}`;
    this.acknowledged.set(key, Math.max(seq, this.acknowledged.get(key) ?? 0));
    return key;
  }
}
