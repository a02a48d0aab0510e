/** Reads the scorecard of an agent from its sums: whole, by version, and by step of time. */
import type { Context } from '../../platform/context.ts';
import { type ScorecardDocument, scorecardDay } from '../../platform/store/models/scorecard-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { type Range, STEP_MS, stepsOf } from '../analytics/range.ts';
import { addSums, NO_CALLS, type Sums } from './score-call.ts';

/** Sorts after every version id. */
const AFTER_IDS = '\uffff';

/** Sums over all calls, and by the number of the version. */
export interface VersionedSums {
  readonly all: Sums;
  readonly versions: ReadonlyMap<number, Sums>;
}

/** A scorecard; `steps` has each step of the range, those without a call too. */
export interface Scorecard {
  readonly totals: VersionedSums;
  readonly steps: readonly { readonly startMs: number; readonly sums: VersionedSums }[];
}

interface Collected {
  all: Sums;
  readonly versions: Map<number, Sums>;
}

/** Reads the calls that began in the hours of the range, its first and its last one whole. */
export async function readScorecard(
  { models }: Pick<Context, 'models'>,
  agentId: string,
  range: Range,
): Promise<Scorecard> {
  const first = scorecardDay(agentId, new Date(range.fromMs));
  const last = scorecardDay(agentId, new Date(range.toMs - 1)) + AFTER_IDS;
  const ids = { _id: { $gte: first, $lte: last } };
  const cards = await readStored<ScorecardDocument>(models.scorecards, ids, {});
  const stepMs = STEP_MS[range.interval];
  const steps = new Map<number, Collected>();
  const totals = nothing();
  for (const card of cards)
    for (const { startMs, sums } of hoursOf(agentId, card)) {
      if (startMs + STEP_MS.hour <= range.fromMs || startMs >= range.toMs) continue;
      const step = Math.floor(startMs / stepMs);
      const ofStep = steps.get(step) ?? nothing();
      steps.set(step, ofStep);
      for (const one of [totals, ofStep]) add(one, card.version_number, sums);
    }
  return {
    totals,
    steps: stepsOf(range).map((step) => ({ startMs: step * stepMs, sums: steps.get(step) ?? nothing() })),
  };
}

function hoursOf(agentId: string, { _id, hours }: ScorecardDocument): { startMs: number; sums: Sums }[] {
  const dayMs = Date.parse(_id.slice(agentId.length + 1, agentId.length + 1 + 'YYYY-MM-DD'.length));
  return hours.map(({ hour, ...sums }) => ({ startMs: dayMs + hour * STEP_MS.hour, sums }));
}

function nothing(): Collected {
  return { all: NO_CALLS, versions: new Map() };
}

/** In place: a range may have thousands of versions. */
function add(to: Collected, version: number, sums: Sums): void {
  to.all = addSums(to.all, sums);
  to.versions.set(version, addSums(to.versions.get(version) ?? NO_CALLS, sums));
}
