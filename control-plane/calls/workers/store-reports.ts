/**
 * Passes reports to the `ReportSink`, grouped by session and epoch, and replies to the worker: stored, gap,
 * or stale.
 */
import type { Logger } from '#base/log.ts';
import type { ReportEnvelope } from '#protocol/worker-link.ts';
import type { ReportSink } from '../../platform/report-sink.ts';
import type { ReceivedReport } from './report-queue.ts';
import type { WorkerConnection } from './worker-connection.ts';

/** Dependencies of `storeReports`. */
interface StoringDeps {
  readonly logger: Logger;
  readonly sink: ReportSink;
  /** Called when a worker reports the end of a session. */
  onEnded(sessionId: string): void;
}

/** Stores reports of one session in order and replies to each worker that sent some. */
export async function storeReports(deps: StoringDeps, reports: readonly ReceivedReport[]): Promise<void> {
  for (let rest = reports; rest[0]; ) {
    const { worker, envelope } = rest[0];
    const end = rest.findIndex(
      (report) => report.worker !== worker || report.envelope.epoch !== envelope.epoch,
    );
    const same = end < 0 ? rest : rest.slice(0, end);
    rest = rest.slice(same.length);
    await apply(
      deps,
      worker,
      same.map((report) => report.envelope),
    );
  }
}

/** Applies reports of one session and epoch. */
async function apply(
  { sink, logger, onEnded }: StoringDeps,
  worker: WorkerConnection,
  envelopes: readonly ReportEnvelope[],
): Promise<void> {
  const { session_id, epoch } = envelopes[0] as ReportEnvelope;
  try {
    const result = await sink.apply(envelopes, worker.registration.instance_id);
    if (envelopes.some(({ report }) => report.type === 'ended')) onEnded(session_id);
    if (result.outcome === 'stored') worker.send({ type: 'ack', session_id, epoch, seq: result.seq });
    else if (result.outcome === 'gap')
      worker.send({ type: 'resend', session_id, epoch, from_seq: result.fromSeq });
    else
      worker.send({ type: 'stale', session_id, epoch, ...(result.isTaken && { is_taken: result.isTaken }) });
  } catch (error) {
    // Without an acknowledgement the worker keeps the reports and sends them again.
    const types = envelopes.map(({ report }) => report.type);
    logger.error({ err: error, sessionId: session_id, reports: types }, 'failed to store reports');
  }
}
