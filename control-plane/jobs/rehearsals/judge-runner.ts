/**
 * Judges rehearsals in the background: draws turns, and asks a few questions of each rehearsal at a time. A
 * rehearsal belongs to one process at a time (a lease in the store).
 */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { leaseHolder, takeLease } from '../../platform/store/lease.ts';
import type { JudgedTurnDocument } from '../../platform/store/models/judged-turn-model.ts';
import type { JudgeState, RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { type Drawn, type DrawnTurn, drawTurns } from './draw-turns.ts';
import { failAfterErrors } from './fail-rehearsal.ts';
import { judgeGroup } from './judge-group.ts';

const TICK_MS = 2_000;
/** A question may take a minute. */
const LEASE_MS = 120_000;
const GIVE_UP_MS = 10 * 60_000;
/** Turns are drawn from the newest calls, at most so many: listing them takes seconds of the lease. */
const LISTED_CALLS = 20_000;
/** Rehearsals that a process judges at once. */
const AT_ONCE = 20;
const NO_WORKER = 'No worker has asked a model for ten minutes';

type Judged = RehearsalDocument & { readonly judge: JudgeState };

/** Starts the runner of a process. */
export function startJudgeRunner(context: Context): BackgroundLoop {
  const runner = leaseHolder(context.settings);
  const isDone = async () => (await context.models.rehearsals.exists({ status: 'judging' })) === null;
  const options = {
    name: 'judged-turns',
    everyMs: TICK_MS,
    chore: 'judged-turns',
    isDone,
    waitsFor: ['rehearsals', 'judgedTurns'],
  } as const;
  const underWay: UnderWay = new Map();
  const loop = startBackgroundLoop(context, options, () => startQuestions(context, runner, underWay));
  const whenStill = () => Promise.all(underWay.values());
  return {
    kick: () => loop.kick(),
    async idle() {
      await loop.idle();
      await whenStill();
    },
    async close() {
      await loop.close();
      await whenStill();
    },
  };
}

/** Questions of rehearsals in this process. */
type UnderWay = Map<string, Promise<void>>;

/** The next questions of every rehearsal, until they are answered. */
export async function judgeRehearsals(context: Context, runner: string): Promise<void> {
  const underWay: UnderWay = new Map();
  await startQuestions(context, runner, underWay);
  await Promise.all(underWay.values());
}

/** Starts the next questions of rehearsals that have none: a slow model delays only its own rehearsal. */
async function startQuestions(context: Context, runner: string, underWay: UnderWay): Promise<void> {
  const room = AT_ONCE - underWay.size;
  if (room <= 0) return;
  const open = await context.models.rehearsals
    .find({ status: 'judging', _id: { $nin: [...underWay.keys()] } }, { _id: 1 })
    .sort({ advanced_at: 1 })
    .limit(room)
    .lean<Pick<RehearsalDocument, '_id'>[]>();
  for (const { _id } of open) underWay.set(_id, askNext(context, { _id, runner, underWay }));
}

/** Never rejects. */
async function askNext(
  context: Context,
  { _id, runner, underWay }: { readonly _id: string; readonly runner: string; readonly underWay: UnderWay },
): Promise<void> {
  const hasMore = await advanceOne(context, _id, runner).catch((error: unknown) => {
    context.logger.error({ err: error, rehearsalId: _id }, 'failed to store that turns were not judged');
    return false;
  });
  underWay.delete(_id);
  if (hasMore) context.workSignals.notify('judged-turns');
}

async function advanceOne(context: Context, _id: string, runner: string): Promise<boolean> {
  const { rehearsals } = context.models;
  const filter = { _id, status: 'judging' };
  try {
    const lease = { holder: runner, ms: LEASE_MS };
    const rehearsal = await takeLease(context, { model: rehearsals, filter }, lease);
    return rehearsal?.judge ? await advance(context, rehearsal as Judged, runner) : false;
  } catch (error) {
    context.logger.error({ err: error, rehearsalId: _id }, 'failed to judge turns');
    await failAfterErrors(context, { ...filter, lease_by: runner }, error);
    return false;
  }
}

/** Asks the next questions; true if there are more. */
async function advance(context: Context, rehearsal: Judged, runner: string): Promise<boolean> {
  const { rehearsals } = context.models;
  const own = { _id: rehearsal._id, status: 'judging', lease_by: runner } as const;
  let { rev } = rehearsal.judge;
  // Without other replicas all processes have one name: two at a time are told apart by what they have read.
  const store = async ({ judge, ...change }: Partial<RehearsalDocument> & { readonly judge: JudgeState }) => {
    const $set = { ...change, judge: { ...judge, rev: rev + 1 } };
    const { matchedCount } = await rehearsals.updateOne({ ...own, 'judge.rev': rev } as never, { $set });
    if (matchedCount > 0) rev += 1;
    return matchedCount > 0;
  };
  if (!rehearsal.judge.drawn) {
    const judge = await draw(context, rehearsal);
    if (await store({ judge, advanced_at: now(context) })) return true;
    // Deleted meanwhile: nothing else would find them.
    if (!(await rehearsals.exists({ _id: rehearsal._id })))
      await context.models.judgedTurns.deleteMany({ rehearsal_id: rehearsal._id });
    return false;
  }
  const step = await judgeGroup(context, rehearsal, (judge) => store({ judge }));
  if (step.did === 'lost') return false;
  const at = now(context);
  const isGivenUp = step.did === 'waiting' && at.getTime() - rehearsal.advanced_at.getTime() >= GIVE_UP_MS;
  if (step.did !== 'ended' && !isGivenUp) {
    const progress = step.did === 'asked' ? { advanced_at: at, failures: 0 } : {};
    return (await store({ judge: step.judge, ...progress })) && step.did === 'asked';
  }
  const judge = {
    ...step.judge,
    ...(isGivenUp && { stopped: NO_WORKER }),
    // The draft is needed no longer.
    draft: '',
  };
  if (await store({ judge, status: 'completed', finished_at: at, lease_until: null })) {
    context.metrics.rehearsalsEnded.inc({ outcome: 'completed' });
    const { spent_micros: spentMicros, stopped } = judge;
    context.logger.info({ rehearsalId: rehearsal._id, spentMicros, stopped }, 'rehearsal judged');
  }
  return false;
}

/** Draws and stores the turns; what an interrupted attempt has stored is replaced. */
async function draw(context: Context, rehearsal: Judged): Promise<JudgeState> {
  const { judgedTurns } = context.models;
  const { _id: seed, judge, calls_found: found, calls_wanted: wanted } = rehearsal;
  const options = { seed, turns: judge.turns, listed: LISTED_CALLS };
  const drawn = await drawTurns(context, { calls: rehearsal, found, wanted }, options);
  await judgedTurns.deleteMany({ rehearsal_id: seed });
  const turns = await turnsOf(context, rehearsal, drawn);
  if (turns.length > 0) await judgedTurns.insertMany(turns);
  return { ...judge, drawn: { calls_read: drawn.callsRead, turns_found: drawn.turnsFound } };
}

async function turnsOf(
  { models }: Pick<Context, 'models'>,
  rehearsal: Judged,
  { turns }: Drawn,
): Promise<JudgedTurnDocument[]> {
  const versionIds = [...new Set(turns.map(({ session }) => session.version_id))];
  const versions = await models.versions
    .find({ _id: { $in: versionIds } }, { 'config.voice': 1 })
    .lean<Pick<VersionDocument, '_id' | 'config'>[]>();
  const languages = new Map(versions.map(({ _id, config }) => [_id, config.voice?.speaking_language]));
  const calls = new Map<string, number>();
  for (const { session } of turns) if (!calls.has(session._id)) calls.set(session._id, calls.size);
  const again = turnsAgain(turns.length);
  const every = Math.max(1, Math.floor(turns.length / again));
  return turns
    .flatMap((turn, index) => [
      { turn, kind: 'draft' as const },
      ...(index % every === 0 && index / every < again ? [{ turn, kind: 'again' as const }] : []),
    ])
    .map(({ turn, kind }, order) => ({
      ...toDocument(rehearsal, turn, order),
      ...{ kind, call: calls.get(turn.session._id) ?? 0 },
      language: languages.get(turn.session.version_id) ?? 'unknown',
    }));
}

const FEWEST_AGAIN = 5;
const SHARE_AGAIN = 0.1;

/** Turns of which the call's version answers once more: one in ten, and at least five. */
export function turnsAgain(turns: number): number {
  return Math.min(turns, Math.max(FEWEST_AGAIN, Math.ceil(turns * SHARE_AGAIN)));
}

function toDocument(
  { _id, team_id, agent_id }: Judged,
  { session, item, atMs }: DrawnTurn,
  order: number,
): Omit<JudgedTurnDocument, 'kind' | 'call' | 'language'> {
  const { started_at: startedAt, dialed_number, channel } = session;
  return {
    ...{ _id: `${_id}:${order}`, rehearsal_id: _id, team_id, agent_id, session_id: session._id, order },
    item,
    number: channel === 'web_voice' ? 'web' : (dialed_number ?? 'unknown'),
    at: new Date(atMs),
    second: startedAt && Math.max(0, Math.round((atMs - startedAt.getTime()) / 100) / 10),
    ...{ state: 'drawn', attempts: 0, needs_micros: null, asks: 0 },
    ...{ last_micros: 0, last_lost_micros: 0 },
    ...{ verdict: null, content: null },
  };
}
