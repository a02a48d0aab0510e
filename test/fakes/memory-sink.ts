/** A `ReportSink` without a store, for tests of the worker link and of workers connected over it. */
import { systemClock } from '#base/clock.ts';
import type {
  HandedOverCall,
  ReportOutcome,
  ReportSink,
  ReturnLink,
} from '#control-plane/platform/report-sink.ts';
import type { ReportEnvelope } from '#protocol/worker-link.ts';

/** Stores reports like the real sink: in order, each once; refuses gaps and past epochs. */
export class MemorySink implements ReportSink {
  readonly stored: ReportEnvelope[] = [];
  readonly events: string[] = [];
  failures = 0;
  /** Number of returns of workers that it fails to settle. */
  backFailures = 0;
  /** How long reporting a lost link takes, ms. */
  slowLossMs = 0;
  /** What each reconnected worker reported, recorded after the sink has read its store. */
  readonly cameBackWith: string[][] = [];
  /** Delays the sink's read of its store until it resolves. */
  storeIsReady: Promise<unknown> = Promise.resolve();
  readonly #lastSeq = new Map<string, number>();

  /** Number of reports in each batch. */
  readonly counts: number[] = [];

  async apply(envelopes: readonly ReportEnvelope[]): Promise<ReportOutcome> {
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error('store is away');
    }
    this.counts.push(envelopes.length);
    let outcome: ReportOutcome = { outcome: 'stale' };
    for (const envelope of envelopes) {
      outcome = this.#take(envelope);
      if (outcome.outcome !== 'stored') break;
    }
    return outcome;
  }

  #take(envelope: ReportEnvelope): ReportOutcome {
    if (envelope.epoch === 99) return { outcome: 'stale' };
    const key = `${envelope.session_id}:${envelope.epoch}`;
    const last = this.#lastSeq.get(key) ?? 0;
    if (envelope.seq <= last) return { outcome: 'stored', seq: last };
    if (envelope.seq > last + 1) return { outcome: 'gap', fromSeq: last + 1 };
    this.#lastSeq.set(key, envelope.seq);
    this.stored.push(envelope);
    return { outcome: 'stored', seq: envelope.seq };
  }

  async workerLost(instanceId: string) {
    if (this.slowLossMs > 0) await systemClock.sleep(this.slowLossMs);
    this.events.push(`lost ${instanceId}`);
  }

  async handOver(instanceId: string, { sessionId, epoch, variables }: HandedOverCall) {
    this.events.push(`hand over ${sessionId}:${epoch} of ${instanceId} ${JSON.stringify(variables)}`);
    return false;
  }

  async workersHeard(instanceIds: readonly string[]) {
    this.events.push(`heard ${instanceIds.join()}`);
  }

  async workerBack(instanceId: string, sessions: readonly { sessionId: string }[], link?: ReturnLink) {
    this.events.push(`back ${instanceId} [${sessions.map((session) => session.sessionId).join()}]`);
    if (this.backFailures > 0) {
      this.backFailures -= 1;
      throw new Error('store is away');
    }
    await this.storeIsReady;
    this.cameBackWith.push(sessions.map((session) => session.sessionId));
    link?.onChecked();
  }

  async workerDead(instanceId: string) {
    this.events.push(`dead ${instanceId}`);
  }
}
