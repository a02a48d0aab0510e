/**
 * Decides whether a worker is dead although no process reported its death, as when its machine is lost.
 * Three things together prove it: no control plane hears the worker; a signalling server that heard it
 * before no longer does; and no signalling server that may be alive still hears it. A worker that lost only
 * its link, or only signalling, is alive. Pure bookkeeping without I/O; docs/decisions/031 has the
 * reasons.
 */
import {
  DEATH_MS,
  REPORT_TAKEN_MS,
  type SignallingReport,
  SPEAKING_LEASE_MS,
} from '#protocol/worker-watch.ts';

/** A signalling server whose reports have stopped for longer is no witness, ms. */
const WITNESS_MS = 4_000;
/**
 * A signalling server that has fallen silent itself may still hear a worker, and may have acknowledged it
 * this long after its last report.
 */
const LOST_WITNESS_MS = SPEAKING_LEASE_MS + REPORT_TAKEN_MS + 1_000;
/** After a longer pause between two looks, what was seen before proves nothing about the time between. */
const MAX_PAUSE_MS = 3_000;
const FORGOTTEN_MS = 120_000;

/** State of the evidence at one check. */
export interface Look {
  /** Workers connected to this replica, and the time since their last message, ms. */
  readonly silences: ReadonlyMap<string, number>;
  /** Workers that other replicas hear. */
  readonly listed: Iterable<string>;
  readonly signalling: readonly SignallingReport[];
}

/** A dead worker, and when there was the last sign of its life, in ms of the same clock as `nowMs`. */
export interface DeadWorker {
  readonly id: string;
  readonly aliveMs: number;
}

/** The last report of one signalling server. */
interface Witness {
  readonly seq: number;
  readonly atMs: number;
  readonly connected: ReadonlySet<string>;
  /** Since when each worker has been silent, and how long it had been when the report was written. */
  readonly silent: ReadonlyMap<string, { readonly sinceMs: number; readonly reportedMs: number }>;
}

/** Collects what the looks find. */
export class DeathEvidence {
  readonly #heardMs = new Map<string, number>();
  readonly #witnesses = new Map<string, Witness>();
  #lookedMs = Number.NEGATIVE_INFINITY;
  /** Start of the uninterrupted series of looks. */
  #sinceMs = 0;

  note({ silences, listed, signalling }: Look, nowMs: number): void {
    if (nowMs - this.#lookedMs > MAX_PAUSE_MS) this.#sinceMs = nowMs;
    this.#lookedMs = nowMs;
    for (const id of listed) this.#heardMs.set(id, nowMs);
    for (const [id, silentMs] of silences)
      this.#heardMs.set(id, Math.max(nowMs - silentMs, this.#heardMs.get(id) ?? 0));
    for (const report of signalling) this.#take(report, nowMs);
    for (const [id, { atMs }] of this.#witnesses) if (nowMs - atMs > FORGOTTEN_MS) this.#witnesses.delete(id);
    for (const [id, heardMs] of this.#heardMs) if (nowMs - heardMs > FORGOTTEN_MS) this.#heardMs.delete(id);
  }

  /** The workers that are dead as of the last look. */
  dead(): readonly DeadWorker[] {
    const suspects = new Set([...this.#witnesses.values()].flatMap((one) => [...one.silent.keys()]));
    return [...suspects].flatMap((id) => this.#verdict(id) ?? []);
  }

  #take({ signalling, seq, connected, silent, age_ms = 0 }: SignallingReport, nowMs: number): void {
    const before = this.#witnesses.get(signalling);
    // Another replica may still have an older one.
    if (before && before.seq >= seq) return;
    this.#witnesses.set(signalling, {
      seq,
      atMs: nowMs,
      connected: new Set(connected),
      silent: new Map(
        silent.map(({ worker, for_ms }) => [
          worker,
          { sinceMs: nowMs - age_ms - for_ms, reportedMs: for_ms },
        ]),
      ),
    });
  }

  #verdict(id: string): DeadWorker | null {
    const nowMs = this.#lookedMs;
    const heardMs = Math.max(this.#heardMs.get(id) ?? this.#sinceMs, this.#sinceMs);
    if (nowMs - heardMs < DEATH_MS) return null;
    const witnesses = [...this.#witnesses.values()];
    const mayHearIt = witnesses.some(
      ({ atMs, connected }) => connected.has(id) && nowMs - atMs < LOST_WITNESS_MS,
    );
    // A server that reported a shorter silence may have heard the worker again since: the worker may speak.
    const silences = witnesses
      .filter(({ atMs }) => nowMs - atMs <= WITNESS_MS)
      .flatMap(({ silent }) => silent.get(id) ?? [])
      .filter(({ reportedMs }) => reportedMs > SPEAKING_LEASE_MS);
    const silentMs = Math.max(...silences.map(({ sinceMs }) => sinceMs));
    if (mayHearIt || silences.length === 0 || nowMs - silentMs < DEATH_MS) return null;
    return { id, aliveMs: Math.max(silentMs, this.#heardMs.get(id) ?? silentMs) };
  }
}
