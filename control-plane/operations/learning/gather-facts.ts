/** Gathers what a learner decides by: the measured calls of its agent, by the setting that they ran. */
import { addRegret, NO_REGRET, type RegretSums } from '#protocol/regret-tally.ts';
import { configHashWith } from '../../catalogue/agents/config-hash.ts';
import { dayOf, regretDays } from '../../jobs/regret/regret-store.ts';
import { type Context, now } from '../../platform/context.ts';
import type { LearningDocument } from '../../platform/store/models/learning-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { EAGERNESS, isSameSetting, type Setting } from './candidates.ts';
import type { Evidence } from './judge-candidates.ts';
import { rulesOf, settingOf } from './learning-store.ts';
import type { LearningFacts } from './next-step.ts';

/** Older calls are those of other callers. */
const DAYS = 28;
/** Of these the published setting must keep the bound. */
const RECENT_DAYS = 7;
const DAY_MS = 24 * 60 * 60_000;
/** A setting that was rolled back is tried again after so long. */
const REFUSED_MS = 30 * DAY_MS;

/** Reads the facts. `isHarmful`: the running trial was stopped on harm. */
export async function gatherFacts(
  context: Context,
  learning: LearningDocument,
  { published, isHarmful }: { readonly published: VersionDocument; readonly isHarmful: boolean },
): Promise<LearningFacts> {
  const at = now(context);
  const from = dayOf(new Date(at.getTime() - (DAYS - 1) * DAY_MS));
  const days = await regretDays(context, learning._id, { from, to: dayOf(at) }, true);
  const versions = await kinOf(context, published, [...new Set(days.map(({ version_id: id }) => id))]);
  const recentFrom = dayOf(new Date(at.getTime() - (RECENT_DAYS - 1) * DAY_MS));
  const { trial } = learning;
  return {
    rules: rulesOf(learning),
    published: settingOf(published),
    evidence: bySetting(days, versions),
    recent: bySetting(
      days.filter(({ day }) => day >= recentFrom),
      versions,
    ),
    trial: trial && {
      purpose: trial.purpose,
      setting: toSetting(trial.setting),
      isHarmful,
      sums: days
        .filter(({ version_id: id }) => id === trial.version_id)
        .reduce((sums, { parsed }) => addRegret(sums, parsed), NO_REGRET),
    },
    refused: learning.refused.filter((one) => at.getTime() - one.at.getTime() < REFUSED_MS).map(toSetting),
  };
}

/** Adds up the days of each setting. */
function bySetting(
  days: readonly { readonly version_id: string; readonly parsed: RegretSums }[],
  versions: ReadonlyMap<string, Setting>,
): Evidence[] {
  const evidence: Evidence[] = [];
  for (const { version_id: id, parsed } of days) {
    const setting = versions.get(id);
    if (!setting) continue;
    const index = evidence.findIndex((one) => isSameSetting(one.setting, setting));
    const before = evidence[index];
    if (before) evidence[index] = { setting, sums: addRegret(before.sums, parsed) };
    else evidence.push({ setting, sums: parsed });
  }
  return evidence;
}

/** A stored setting. */
export function toSetting(stored: {
  readonly eagerness: string;
  readonly response_wait_ms: number;
}): Setting {
  const eagerness = EAGERNESS.find((one) => one === stored.eagerness) ?? 'balanced';
  return { eagerness, response_wait_ms: stored.response_wait_ms };
}

/** Those of these versions that differ from the published one in nothing else than the setting. */
async function kinOf(
  { models }: Context,
  published: VersionDocument,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Setting>> {
  const found = await models.versions.find({ _id: { $in: ids } }).lean<VersionDocument[]>();
  const own = hashWithout(published);
  return new Map(
    found
      .filter((version) => hashWithout(version) === own)
      .map((version) => [version._id, settingOf(version)]),
  );
}

/** Hash of a version whose setting is not looked at. */
function hashWithout(version: VersionDocument): string {
  const conversation = { ...version.config.conversation, eagerness: 'balanced', response_wait_ms: 0 };
  return configHashWith({ ...version.config, conversation } as VersionDocument['config'], version);
}
