/**
 * Call statistics, added up in constant memory: totals, end reasons, and latency percentiles from histograms.
 * Calls are added one at a time, or as sums of many that were added before.
 */
import type { CallCountDocument, StoredSums } from '../../platform/store/models/call-count-model.ts';
import { type StoredStatus, toBuffer } from '../../platform/store/models/session-model.ts';
import { isRunning } from '../../platform/store/session-status.ts';

/** The counted fields of a call. */
export interface CountedCall {
  readonly agent_id: string;
  readonly agent_name: string;
  readonly status: StoredStatus;
  readonly end_reason: string | null;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly duration_seconds: number | null;
  readonly billing: { readonly state: string; readonly hold: number; readonly due: number };
  readonly turns?: readonly { readonly total_ms: number }[];
}

/** Projection to the counted fields. */
export const COUNTED_FIELDS = {
  agent_id: 1,
  agent_name: 1,
  status: 1,
  end_reason: 1,
  created_at: 1,
  started_at: 1,
  duration_seconds: 1,
  billing: 1,
  'turns.total_ms': 1,
} as const;

/**
 * Percentiles of the caller's wait from end of speech to the agent's first audio, ms; null without a turn.
 */
export interface LatencySummary {
  readonly turns: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly p99_ms: number | null;
}

/** Sums over a set of calls. */
export interface CallSums {
  readonly calls: number;
  /** The call was connected. */
  readonly answered: number;
  readonly live: number;
  readonly seconds: number;
  readonly costMicros: number;
  readonly latency: LatencySummary;
  readonly endReasons: Readonly<Record<string, number>>;
}

/** Latencies are counted in steps of this many ms, up to this many steps; slower ones count as the last. */
const STEP_MS = 10;
const STEPS = 1_000;
/** A stored step: its number in two bytes and its count in four, little-endian. */
const STEP_BYTES = 6;

/** Adds up calls. */
export class Tally {
  #calls = 0;
  #answered = 0;
  #live = 0;
  #seconds = 0;
  #costMicros = 0;
  #turns = 0;
  #histogram: Uint32Array | null = null;
  readonly #endReasons = new Map<string, number>();

  /** Adds a call, or if it was added with this many of its turns before, those that have come since. */
  add(call: CountedCall, countedTurns: number | null = null): void {
    if (countedTurns === null) this.#addCall(call);
    for (const { total_ms } of call.turns?.slice(countedTurns ?? 0) ?? [])
      this.#addLatencies(Math.min(STEPS - 1, Math.max(0, Math.round(total_ms / STEP_MS))), 1);
  }

  /** Adds what `stored` has returned. */
  addStored(sums: StoredSums): void {
    this.#calls += sums.calls;
    this.#answered += sums.answered;
    this.#seconds += sums.seconds;
    this.#costMicros += sums.cost_micros;
    for (const [reason, count] of Object.entries(sums.end_reasons)) this.#addReason(reason, count);
    const bytes = toBuffer(sums.latencies);
    for (let at = 0; at < bytes.length; at += STEP_BYTES)
      this.#addLatencies(bytes.readUInt16LE(at), bytes.readUInt32LE(at + 2));
  }

  /** The sums as they are stored; of ended calls only. */
  stored(): StoredSums {
    return {
      calls: this.#calls,
      answered: this.#answered,
      seconds: this.#seconds,
      cost_micros: this.#costMicros,
      end_reasons: Object.fromEntries(this.#endReasons),
      latencies: this.#storedLatencies(),
    };
  }

  sums(): CallSums {
    return {
      calls: this.#calls,
      answered: this.#answered,
      live: this.#live,
      seconds: this.#seconds,
      costMicros: this.#costMicros,
      latency: {
        turns: this.#turns,
        p50_ms: this.#percentile(0.5),
        p95_ms: this.#percentile(0.95),
        p99_ms: this.#percentile(0.99),
      },
      endReasons: Object.fromEntries(this.#endReasons),
    };
  }

  #addCall(call: CountedCall): void {
    this.#calls += 1;
    if (call.started_at) this.#answered += 1;
    if (isRunning(call.status)) this.#live += 1;
    this.#seconds += call.duration_seconds ?? 0;
    this.#costMicros += costOf(call.billing);
    if (call.end_reason) this.#addReason(call.end_reason, 1);
  }

  #addReason(reason: string, count: number): void {
    this.#endReasons.set(reason, (this.#endReasons.get(reason) ?? 0) + count);
  }

  #addLatencies(step: number, count: number): void {
    this.#histogram ??= new Uint32Array(STEPS);
    this.#histogram[step] = (this.#histogram[step] ?? 0) + count;
    this.#turns += count;
  }

  #storedLatencies(): Buffer {
    const steps = [...(this.#histogram ?? []).entries()].filter(([, count]) => count > 0);
    const bytes = Buffer.alloc(steps.length * STEP_BYTES);
    for (const [index, [step, count]] of steps.entries()) {
      bytes.writeUInt16LE(step, index * STEP_BYTES);
      bytes.writeUInt32LE(count, index * STEP_BYTES + 2);
    }
    return bytes;
  }

  #percentile(share: number): number | null {
    if (!this.#histogram) return null;
    const wanted = Math.ceil(this.#turns * share);
    let seen = 0;
    for (const [step, count] of this.#histogram.entries()) {
      seen += count;
      if (seen >= wanted) return step * STEP_MS;
    }
    return null;
  }
}

/** Cost of a call so far, micro-dollars: a live one counts its first minute. */
function costOf({ state, hold, due }: CountedCall['billing']): number {
  if (state === 'free' || state === 'hold_due') return 0;
  return state === 'held' ? hold : hold - due;
}

/** The sums of an agent, and its name in the newest of these calls. */
interface AgentTally {
  readonly tally: Tally;
  name: string;
  newestMs: number;
}

/** Statistics of a range of time: in total, by agent, and by bucket of `stepMs` since 1970. */
export class Summary {
  readonly total = new Tally();
  readonly #stepMs: number;
  readonly #buckets = new Map<number, Tally>();
  readonly #agents = new Map<string, AgentTally>();

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  /** Adds a call; see `Tally.add`. */
  addCall(call: CountedCall, countedTurns: number | null = null): void {
    for (const tally of this.#talliesOf(call, call.created_at)) tally.add(call, countedTurns);
  }

  /** Adds stored sums whose calls are all of one bucket and agent. */
  addSums(of: Pick<CallCountDocument, 'agent_id' | 'agent_name' | 'newest_at' | 'sums'>): void {
    for (const tally of this.#talliesOf(of, of.newest_at)) tally.addStored(of.sums);
  }

  /** Sums of a bucket. */
  bucket(index: number): CallSums {
    return (this.#buckets.get(index) ?? new Tally()).sums();
  }

  /** The agents with the most calls, of equal ones first the one that was called last. */
  busiest(count: number): { readonly id: string; readonly name: string; readonly sums: CallSums }[] {
    return [...this.#agents]
      .map(([id, { tally, name, newestMs }]) => ({ id, name, newestMs, sums: tally.sums() }))
      .sort((a, b) => b.sums.calls - a.sums.calls || b.newestMs - a.newestMs)
      .slice(0, count);
  }

  #talliesOf(of: Pick<CountedCall, 'agent_id' | 'agent_name'>, newestAt: Date): Tally[] {
    const index = Math.floor(newestAt.getTime() / this.#stepMs);
    const bucket = this.#buckets.get(index) ?? new Tally();
    this.#buckets.set(index, bucket);
    const agent = this.#agents.get(of.agent_id) ?? { tally: new Tally(), name: '', newestMs: -1 };
    this.#agents.set(of.agent_id, agent);
    if (newestAt.getTime() > agent.newestMs) {
      agent.newestMs = newestAt.getTime();
      agent.name = of.agent_name;
    }
    return [this.total, bucket, agent.tally];
  }
}
