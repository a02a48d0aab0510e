/** The results of a run, as `results.json` keeps them; a run that was stopped continues from them. */
import type { CallResult } from './judge.ts';

/** One call of a round. */
export interface PlayedCall {
  readonly scene: string;
  readonly round: number;
  readonly voice: string;
  readonly heard: CallResult;
}

/** One side's round, without its calls. */
export interface PlayedRound {
  readonly round: number;
  /** Calls that did not connect. */
  readonly failed: number;
  /** Lines of the callers that did not reach the recogniser: the agent was not there, or not listening. */
  readonly unheard: number;
  /** 99th percentile, per call, of how late the caller's process ran. */
  readonly latenessMs: readonly number[];
  /** Share of all cores in use while the scenes were played, 0 to 1. */
  readonly busyShare: number;
}

/** Cost and delay of a number of calls at once. */
export interface LoadResult {
  readonly calls: number;
  readonly failed: number;
  /** Length of all calls together. */
  readonly minutes: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly replyMs: readonly number[];
  readonly unanswered: number;
  readonly latenessMs: number;
  readonly busyShare: number;
  /** Null if the side held them; otherwise why not. */
  readonly brokeBecause: string | null;
}

/** Outcome of a call in which an engine failed. */
export interface FaultOutcome {
  readonly fault: string;
  /**
   * From the end of the question asked during the fault to the agent's next sound. Null if the agent was
   * silent until the next question.
   */
  readonly heardAfterMs: number | null;
  /** The same for the question asked after the engine recovered. */
  readonly nextAnsweredAfterMs: number | null;
  readonly wasSentAway: boolean;
  /** Agent messages outside the script. */
  readonly ownWords: readonly string[];
}

/** Results of one side. */
export interface SideResults {
  readonly id: string;
  readonly name: string;
  readonly setUp: string;
  /** Empty until it was started. */
  version: string;
  /** Why it could not run; null if it could. */
  missing: string | null;
  readonly calls: PlayedCall[];
  readonly rounds: PlayedRound[];
  idle: { readonly cpuShare: number; readonly bytes: number } | null;
  readonly loads: LoadResult[];
  /** Every level that it could hold was tried. */
  isLoaded: boolean;
  readonly faults: FaultOutcome[];
}

/** Results of a whole run. */
export interface ComparisonResults {
  readonly at: string;
  readonly command: string;
  /** Of this repository. */
  readonly revision: string;
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly node: string;
    /** Share of all cores that other programs used before the run. */
    readonly othersShare: number;
  };
  readonly rounds: number;
  readonly callsAtOnce: number;
  readonly voices: readonly string[];
  /** Null if packets were lost as the scene wants it; otherwise why not. */
  lossMissing: string | null;
  /** True once everything was played. */
  isComplete: boolean;
  readonly sides: SideResults[];
}

/** Results of a side that has played nothing yet. */
export function blankSide(side: Pick<SideResults, 'id' | 'name' | 'setUp' | 'missing'>): SideResults {
  return { ...side, version: '', calls: [], rounds: [], idle: null, loads: [], isLoaded: false, faults: [] };
}

/** Properties that a run shares with the one that it continues. */
export type RunIdentity = Pick<ComparisonResults, 'command' | 'revision'> &
  Pick<ComparisonResults['machine'], 'cpu' | 'cores' | 'node'>;

/** Why this run cannot continue the stopped one, because one page would show both; null if it can. */
export function refusalOf(stopped: ComparisonResults, run: RunIdentity): string | null {
  if (stopped.revision !== run.revision)
    return `the stopped run is of revision ${stopped.revision}, and this is ${run.revision}`;
  if (stopped.command !== run.command) return `the stopped run has other options: \`${stopped.command}\``;
  const { cpu, cores, node } = stopped.machine;
  const isSame = cpu === run.cpu && cores === run.cores && node === run.node;
  return isSame ? null : `the stopped run is of another machine: ${cores} cores (${cpu}), Node ${node}`;
}
