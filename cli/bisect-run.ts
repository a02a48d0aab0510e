/**
 * `parley bisect`: walks the published versions of an agent and the versions of the turn machine, and names
 * the change that made a moment of a call bad.
 */
import { REPLAYABLE_SETTINGS } from '#protocol/conversation-settings.ts';
import { type ReplaySettings, replaySettings } from '#protocol/replay.ts';
import {
  type AgentVersion,
  type Culprit,
  findCulprits,
  type WalkedStep,
} from '#runtime/replay/bisect/find-culprit.ts';
import type { Case } from '#runtime/replay/bisect/judge.ts';
import { isBad, type Measure, parseMeasure, QUANTITIES, valueText } from '#runtime/replay/bisect/measure.ts';
import { caseOf } from '#runtime/replay/bisect/moments.ts';
import { machineOf, machineVersions } from '#runtime/replay/machines/machine-of.ts';
import { type Api, CommandError, EXIT } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { printable, show } from './output.ts';
import { readLog } from './replay-run.ts';

/** A version as the API lists it. */
interface Published extends AgentVersion {
  readonly publishedAt: string;
  readonly title: string | null;
}

/** The measure, by its name or as an expression. */
interface BisectOptions {
  readonly measure?: string;
  readonly expr?: string;
}

/**
 * Finds and prints the culprits of a call. Throws `CommandError`, also when the call is not bad by the
 * measure, and when no version is better.
 */
export async function bisectSession(
  common: CommandContext,
  sessionId: string,
  { measure: name, expr }: BisectOptions,
): Promise<void> {
  if (name !== undefined && expr !== undefined)
    throw new CommandError('give either --measure or --expr, not both');
  const measure = measureOf(expr ?? name ?? 'silence');
  const api = common.api();
  const parts = await readLog(api, sessionId);
  const badCase = badCaseOf(caseOf(parts, measure), measure);
  const { machine_version } = badCase.log.header;
  const versions = await publishedBefore(api, sessionId);
  const walked: WalkedStep[] = [];
  if (!common.json) console.log(momentText(badCase));
  const culprits = await findCulprits(
    badCase,
    {
      versions,
      machines: machineVersions()
        .filter((version) => version <= machine_version)
        .map(machineOf),
    },
    (step) => {
      walked.push(step);
      if (!common.json) console.log(stepText(step, measure));
    },
  );
  const { index: _, ...moment } = badCase.moment;
  const found = culprits.map((culprit) => ({ ...culprit, published: publishedOf(culprit, versions) }));
  show({ measure, moment, walked, culprits: found }, common, () => {
    for (const culprit of found) console.log(`\n${culpritText(culprit)}`);
  });
  if (culprits.length === 0)
    throw new CommandError(
      'no version that could be judged is good: the change is older, or it is not one of turn-taking, ' +
        'such as a prompt, a model or a voice',
      EXIT.failed,
    );
}

function measureOf(text: string): Measure {
  try {
    return parseMeasure(text);
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
}

function badCaseOf(found: Case | null, measure: Measure): Case {
  if (!found)
    throw new CommandError(
      `the call has no moment of which ${measure.quantity} can be measured${measure.place ? ' there' : ''}`,
    );
  const { atMs, turn, value } = found.moment;
  if (!isBad(measure, value ?? 0))
    throw new CommandError(
      `the call is not bad by this measure: at ${timeText(atMs)}${turnText(turn)}, ${measure.quantity} is ` +
        `${valueText(measure.quantity, value ?? 0)}; give another limit or place with --expr`,
    );
  return found;
}

/** The versions that the call's agent had when the call began, oldest first; none if the agent is gone. */
async function publishedBefore(api: Api, sessionId: string): Promise<readonly Published[]> {
  const session = await api.get(`/v1/agent/sessions/${encodeURIComponent(sessionId)}`);
  if (session.agent_id === null) return [];
  const path = `/v1/agent/agents/${encodeURIComponent(session.agent_id)}/versions`;
  const rows = await api.all(path, 'versions');
  return rows
    .filter(({ published_at }) => Date.parse(published_at) <= Date.parse(session.created_at))
    .sort((a, b) => a.version_number - b.version_number)
    .map(({ version_number: number, published_at: publishedAt, version_title: title }) => ({
      number,
      publishedAt,
      title,
      settings: async () => settingsIn((await api.get(`${path}/${number}`)).config.conversation),
    }));
}

/** The settings of a version that a replay can change. */
function settingsIn(conversation: Readonly<Record<string, unknown>>): ReplaySettings {
  return replaySettings.parse(
    Object.fromEntries(
      REPLAYABLE_SETTINGS.filter((name) => name in conversation).map((name) => [name, conversation[name]]),
    ),
  );
}

function publishedOf(culprit: Culprit, versions: readonly Published[]) {
  const version = culprit.of === 'agent' ? versions.find(({ number }) => number === culprit.bad) : undefined;
  return version ? { at: version.publishedAt, title: version.title } : null;
}

function momentText({ measure, moment }: Case): string {
  const { quantity, operator, limit } = measure;
  const bad = QUANTITIES[quantity].unit === null ? '' : ` (bad: ${operator} ${limit} ms)`;
  return (
    `${timeText(moment.atMs)}${turnText(moment.turn)}: ${QUANTITIES[quantity].says}: ` +
    `${valueText(quantity, moment.value ?? 0)}${bad}`
  );
}

function stepText({ of, number, verdict }: WalkedStep, { quantity }: Measure): string {
  const name = (of === 'agent' ? `version ${number || 'of the call'}` : `machine ${number}`).padEnd(20);
  if (verdict.is === 'unjudged')
    return `${name}skipped  parts from the call at ${timeText(verdict.partsAtMs)}, before the moment`;
  const parted =
    verdict.partsAtMs === null
      ? ''
      : `  parts from the call at ${timeText(verdict.partsAtMs)}: judged as if it had not`;
  return `${name}${verdict.is.padEnd(7)}  ${valueText(quantity, verdict.value).padEnd(8)}${parted}`.trimEnd();
}

function culpritText(culprit: Culprit & { readonly published: ReturnType<typeof publishedOf> }): string {
  const { of, bad, between, good, harmless, isTogether, published, settings } = culprit;
  const title = published?.title ? ` “${printable(published.title)}”` : '';
  const when = published ? `, published ${published.at}${title}` : '';
  const which =
    of === 'machine'
      ? `version ${bad} of the turn machine`
      : bad === null
        ? 'settings of the call itself, which no version has'
        : `version ${bad} of the agent${when}`;
  const unsure =
    between.length > 0 ? ` or one before it that could not be judged (${between.join(', ')})` : '';
  return [
    `Culprit: ${which}${unsure}; version ${good} is good`,
    ...(isTogether ? ['  Only together:'] : []),
    ...settings.map(
      ({ name, before, after }) =>
        `  conversation.${name}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`,
    ),
    ...(harmless.length > 0 ? [`  Changed too, without harm: ${harmless.join(', ')}`] : []),
  ].join('\n');
}

function turnText(turn: number | null): string {
  return turn === null ? '' : `, turn ${turn}`;
}

/** A time of the call as m:ss.s. */
function timeText(ms: number): string {
  const seconds = ms / 1_000;
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, '0')}`;
}
