/**
 * Asks the next questions of a judged rehearsal, a few at once. Money is reserved in the store before a model
 * is asked, and settled after the outcome of each turn is stored: wherever a process dies, the next one finds
 * what was spent, and counts as spent what may have been.
 */
import { Fault } from '#config/errors.ts';
import type { Verdict } from '#protocol/judged-rehearsal.ts';
import type { QuestionOutcome } from '#protocol/judged-turns.ts';
import type { Context } from '../../platform/context.ts';
import type { JudgedTurnDocument } from '../../platform/store/models/judged-turn-model.ts';
import type { JudgeState, RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';
import { countTestSpending, requireTestSpending } from '../agent-tests/test-limits.ts';
import { CONTENT, type JudgedDraft, type Prepared, prepareQuestion } from './turn-question.ts';

const AT_ONCE = 4;
/** After so many questions in vain a turn is left out. */
const MOST_ATTEMPTS = 2;
/** After so many turns in vain, and none that was judged, the rest would be in vain, too. */
const HOPELESS_TURNS = 5;
const CAP = 'max_cost';

/** `waiting`: no worker has asked. `lost`: another process has the rehearsal. */
export type Advance =
  | { readonly did: 'asked' | 'waiting'; readonly judge: JudgeState }
  | { readonly did: 'ended'; readonly judge: JudgeState }
  | { readonly did: 'lost' };

/** What became of a question, or of the attempt to ask it. */
type Outcome = QuestionOutcome | { readonly outcome: 'unasked' | 'unanswered' };

/** Stores a change of the rehearsal, while this process has it; false once it has not. */
export type StoreJudge = (judge: JudgeState) => Promise<boolean>;

/** Asks the next questions. */
export async function judgeGroup(
  context: Context,
  rehearsal: RehearsalDocument & { readonly judge: JudgeState },
  store: StoreJudge,
): Promise<Advance> {
  const judge = await settledAfterCrash(context, rehearsal, store);
  if (!judge) return { did: 'lost' };
  const turns = await nextTurns(context, rehearsal._id);
  if (turns.length === 0) return { did: 'ended', judge };
  const unpaid = await requireTestSpending(context, rehearsal.team_id).catch(asFault);
  if (unpaid) return { did: 'ended', judge: { ...judge, stopped: unpaid.message } };
  if (!context.dispatch.hasWorker()) return { did: 'waiting', judge };
  const draft = JSON.parse(judge.draft) as JudgedDraft;
  const prepared: Prepared[] = [];
  for (const turn of turns) {
    const question = await prepareQuestion(context, { judge, draft }, turn);
    if (question) prepared.push(question);
    else await context.models.judgedTurns.updateOne({ _id: turn._id }, { $set: { state: 'gone' } });
  }
  if (prepared.length === 0) return { did: 'asked', judge };
  const chosen = affordable(prepared, judge);
  if (chosen.length === 0) return { did: 'ended', judge: { ...judge, stopped: CAP } };
  const asked = chosen.map(({ turn, micros }) => ({ turn: turn._id, asks: turn.asks, micros }));
  if (!(await store({ ...judge, asked }))) return { did: 'lost' };
  const outcomes = await Promise.all(chosen.map((one) => ask(context, one)));
  for (const [index, one] of chosen.entries())
    await storeOutcome(context, one, outcomes[index] ?? { outcome: 'unanswered' });
  return settle(context, { judge, rehearsal }, { chosen, outcomes });
}

/** The questions that fit what is left, with what must follow each. */
function affordable(prepared: readonly Prepared[], judge: JudgeState): Prepared[] {
  let left = judge.max_micros - judge.spent_micros - judge.lost_micros;
  const chosen: Prepared[] = [];
  for (const one of prepared) {
    left -= one.micros + one.microsAfter;
    if (left < 0) break;
    chosen.push(one);
  }
  return chosen;
}

/** Turns that wait for the judge first, so that no answer is paid for in vain. */
async function nextTurns(
  { models: { judgedTurns } }: Pick<Context, 'models'>,
  rehearsalId: string,
): Promise<JudgedTurnDocument[]> {
  const inState = (state: JudgedTurnDocument['state'], limit: number) =>
    judgedTurns
      .find({ rehearsal_id: rehearsalId, state })
      .sort({ order: 1 })
      .limit(limit)
      .lean<JudgedTurnDocument[]>();
  const answered = await inState('answered', AT_ONCE);
  return answered.length > 0 ? answered : inState('drawn', AT_ONCE);
}

async function ask(context: Context, { question }: Prepared): Promise<Outcome> {
  try {
    return await context.dispatch.judgeTurn(question);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { outcome: error.code === 'no_capacity' ? 'unasked' : 'unanswered' };
  }
}

async function storeOutcome(context: Context, prepared: Prepared, outcome: Outcome): Promise<void> {
  if (outcome.outcome === 'unasked') return;
  const { judgedTurns } = context.models;
  const { turn } = prepared;
  const asks = { $inc: { asks: 1 } };
  const { spent: last_micros, lost: last_lost_micros } = costOfOutcome(outcome, prepared);
  const costs = { last_micros, last_lost_micros };
  const { matchedCount } = await judgedTurns.updateOne(
    { _id: turn._id, asks: turn.asks, session_id: turn.session_id },
    { $set: { ...changeAfter(prepared, outcome), ...costs }, ...asks } as never,
  );
  // Its caller was forgotten meanwhile: only what it has cost is kept.
  if (matchedCount === 0)
    await judgedTurns.updateOne(
      { _id: turn._id, asks: turn.asks },
      { $set: { state: 'gone', ...costs }, ...asks },
    );
}

function changeAfter(prepared: Prepared, outcome: Outcome): Partial<JudgedTurnDocument> {
  const { turn, sealer, callAnswer: call_answer, question } = prepared;
  const sealed = (content: object) => sealer.seal(JSON.stringify(content), CONTENT);
  switch (outcome.outcome) {
    case 'answered':
      return {
        ...{ state: 'answered', attempts: 0, needs_micros: null },
        ...(question.step === 'answer' && { language: question.plan.config.voice.speaking_language }),
        content: sealed({ call_answer, answer: outcome.answer, reason: '' }),
      };
    case 'compared':
      return {
        ...{ state: 'judged', needs_micros: null, verdict: verdictOf(outcome.result, prepared) },
        content: sealed({ call_answer, answer: prepared.answer, reason: outcome.reason }),
      };
    case 'dear':
      return { needs_micros: outcome.needs_micros, ...afterAttempt(turn) };
    default:
      return afterAttempt(turn);
  }
}

function afterAttempt({ attempts, state }: JudgedTurnDocument): Partial<JudgedTurnDocument> {
  return { attempts: attempts + 1, state: attempts + 1 >= MOST_ATTEMPTS ? 'failed' : state };
}

function verdictOf(
  result: Extract<QuestionOutcome, { outcome: 'compared' }>['result'],
  { isSwapped }: Prepared,
): Verdict {
  if (result === 'same' || result === 'different') return result;
  return (result === 'first') === isSwapped ? 'better' : 'worse';
}

/** Counts what was spent, and what may have been. */
async function settle(
  context: Context,
  { judge, rehearsal }: { readonly judge: JudgeState; readonly rehearsal: RehearsalDocument },
  { chosen, outcomes }: { readonly chosen: readonly Prepared[]; readonly outcomes: readonly Outcome[] },
): Promise<Advance> {
  const costs = chosen.map((one, index) => costOfOutcome(outcomes[index] ?? { outcome: 'unanswered' }, one));
  const spent = costs.reduce((sum, cost) => sum + cost.spent, 0);
  const lost = costs.reduce((sum, cost) => sum + cost.lost, 0);
  // Counted first: after a kill between the two it is counted again, rather than never.
  await countTestSpending(context, rehearsal.team_id, spent + lost);
  const settled: JudgeState = {
    ...judge,
    asked: [],
    spent_micros: judge.spent_micros + spent,
    lost_micros: judge.lost_micros + lost,
  };
  if (outcomes.every(({ outcome }) => outcome === 'unasked')) return { did: 'waiting', judge: settled };
  const failure = outcomes.find((outcome) => outcome.outcome === 'failed');
  if (failure?.outcome === 'failed' && (await isHopeless(context, rehearsal._id)))
    return { did: 'ended', judge: { ...settled, stopped: failure.error } };
  return { did: 'asked', judge: settled };
}

async function isHopeless({ models }: Pick<Context, 'models'>, rehearsalId: string): Promise<boolean> {
  // The version of a call may have had a model that cannot be asked again: that says nothing of the draft's.
  const count = (state: JudgedTurnDocument['state']) =>
    models.judgedTurns.countDocuments({ rehearsal_id: rehearsalId, kind: 'draft', state });
  return (await count('failed')) >= HOPELESS_TURNS && (await count('judged')) === 0;
}

/**
 * Settles what a process that died had reserved: what is stored has its price, the rest counts as spent. Null
 * if another process has the rehearsal.
 */
async function settledAfterCrash(
  context: Context,
  { judge, team_id }: RehearsalDocument & { readonly judge: JudgeState },
  store: StoreJudge,
): Promise<JudgeState | null> {
  if (judge.asked.length === 0) return judge;
  let { spent_micros, lost_micros } = judge;
  for (const { turn, asks, micros } of judge.asked) {
    const stored = await context.models.judgedTurns
      .findById(turn, { asks: 1, last_micros: 1, last_lost_micros: 1 })
      .lean<Pick<JudgedTurnDocument, 'asks' | 'last_micros' | 'last_lost_micros'>>();
    const isStored = stored !== null && stored.asks > asks;
    spent_micros += isStored ? stored.last_micros : 0;
    lost_micros += isStored ? stored.last_lost_micros : micros;
  }
  const more = spent_micros + lost_micros - judge.spent_micros - judge.lost_micros;
  await countTestSpending(context, team_id, more);
  const settled = { ...judge, asked: [], spent_micros, lost_micros };
  return (await store(settled)) ? settled : null;
}

/** List price of what was reported, and the most that may have been spent besides; micro-dollars. */
function costOfOutcome(
  outcome: Outcome,
  { micros }: Pick<Prepared, 'micros'>,
): { readonly spent: number; readonly lost: number } {
  if (outcome.outcome === 'unanswered') return { spent: 0, lost: micros };
  if (!('cost_micros' in outcome)) return { spent: 0, lost: 0 };
  return { spent: outcome.cost_micros, lost: outcome.unknown_micros ?? 0 };
}

function asFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  throw error;
}
