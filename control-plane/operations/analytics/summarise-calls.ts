/**
 * Call statistics, added up one call at a time in constant memory: totals, a bucket per hour or day, end
 * reasons, agents, and latency percentiles from histograms.
 */

/** The counted fields of a call. */
export interface CountedCall {
  readonly agent_id: string;
  readonly agent_name: string;
  readonly status: string;
  readonly end_reason: string | null;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly duration_seconds: number | null;
  readonly billing: { readonly state: string; readonly hold: number; readonly due: number };
  readonly turns?: readonly { readonly total_ms: number }[];
}

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

  add(call: CountedCall): void {
    this.#calls += 1;
    if (call.started_at) this.#answered += 1;
    if (call.status === 'active' || call.status === 'unknown') this.#live += 1;
    this.#seconds += call.duration_seconds ?? 0;
    this.#costMicros += costOf(call.billing);
    if (call.end_reason)
      this.#endReasons.set(call.end_reason, (this.#endReasons.get(call.end_reason) ?? 0) + 1);
    for (const { total_ms } of call.turns ?? []) this.#addLatency(total_ms);
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

  #addLatency(ms: number): void {
    this.#histogram ??= new Uint32Array(STEPS);
    const step = Math.min(STEPS - 1, Math.max(0, Math.round(ms / STEP_MS)));
    this.#histogram[step] = (this.#histogram[step] ?? 0) + 1;
    this.#turns += 1;
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

/** Tallies by key, created as needed. */
export class TallyMap<Key> {
  readonly #tallies = new Map<Key, Tally>();

  at(key: Key): Tally {
    const tally = this.#tallies.get(key) ?? new Tally();
    this.#tallies.set(key, tally);
    return tally;
  }

  sums(key: Key): CallSums {
    return (this.#tallies.get(key) ?? new Tally()).sums();
  }

  entries(): [Key, CallSums][] {
    return [...this.#tallies].map(([key, tally]) => [key, tally.sums()]);
  }
}
