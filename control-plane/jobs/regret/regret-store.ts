/** The regret of agents in the store: sums by day and version, read for the API and for learners. */
import { LIMITS } from '#config/limits.ts';
import type { RegretRecord } from '#protocol/regret.ts';
import { addRegret, NO_REGRET, type RegretSums, regretFiguresOf } from '#protocol/regret-tally.ts';
import type { Context } from '../../platform/context.ts';
import type { RegretDayDocument, RegretDocument } from '../../platform/store/models/regret-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';

const DAY_MS = 24 * 60 * 60_000;

/** Days (UTC), both included. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** The day (UTC) of a time, such as `2026-11-29`. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** Whether so many days are more than one question may ask for. */
export function isTooLong({ from, to }: Days): boolean {
  return Date.parse(to) - Date.parse(from) >= LIMITS.regretDays * DAY_MS;
}

/** The sums of a stored day. */
export function sumsOf({ sums, candidates }: Pick<RegretDayDocument, 'sums' | 'candidates'>): RegretSums {
  return { ...JSON.parse(sums), candidates: candidates === undefined ? {} : JSON.parse(candidates) };
}

/** Sums as they are stored. */
export function storedSums({
  candidates,
  ...sums
}: RegretSums): Pick<RegretDayDocument, 'sums' | 'candidates'> {
  const hasCandidates = Object.keys(candidates).length > 0;
  return {
    sums: JSON.stringify(sums),
    ...(hasCandidates ? { candidates: JSON.stringify(candidates) } : {}),
  };
}

/** Sums of an agent by day and version, in the order of the days; `isWhole`: with those of candidates. */
export async function regretDays(
  { models }: Pick<Context, 'models'>,
  agentId: string,
  { from, to }: Days,
  isWhole = false,
): Promise<(RegretDayDocument & { readonly parsed: RegretSums })[]> {
  const found = await readStored<RegretDayDocument>(
    models.regretDays,
    { agent_id: agentId, day: { $gte: from, $lte: to } },
    { sort: { day: 1 }, ...(isWhole ? {} : { projection: { candidates: 0 } }) },
  );
  return found
    .map((day) => ({ ...day, parsed: sumsOf(day) }))
    .sort((a, b) => a.day.localeCompare(b.day) || a.version_number - b.version_number);
}

/** The regret of an agent over some days, as the API answers it. */
export async function regretOf(
  context: Pick<Context, 'models'>,
  agentId: string,
  days: Days,
): Promise<RegretRecord> {
  const found = await regretDays(context, agentId, days);
  const [state] = await readStored<RegretDocument>(context.models.regrets, { _id: agentId }, {});
  const sum = (of: readonly { readonly parsed: RegretSums }[]) =>
    regretFiguresOf(of.reduce((sums, { parsed }) => addRegret(sums, parsed), NO_REGRET));
  const versions = Map.groupBy(found, ({ version_number: number }) => number);
  return {
    agent_id: agentId,
    ...days,
    measured_until: state?.session_id ? state.at.toISOString() : null,
    all: sum(found),
    by_version: [...versions]
      .sort(([a], [b]) => a - b)
      .map(([version_number, of]) => ({ version_number, ...sum(of) })),
    by_day: found.map((one) => ({ day: one.day, version_number: one.version_number, ...sum([one]) })),
  };
}

/** Deletes a team's sums of the days before. */
export async function removeRegret(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  until: Date,
): Promise<void> {
  await models.regretDays.deleteMany({ team_id: teamId, day: { $lt: dayOf(until) } });
}
