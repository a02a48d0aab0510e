/** The judged part of a rehearsal as shown by the API: its figures follow from the stored verdicts. */
import { clusteredShare, NO_UNITS, type RatioSums, rounded, withUnit } from '#base/intervals.ts';
import { formatMoney } from '#base/money.ts';
import {
  type JudgedFigures,
  type JudgedResult,
  type TurnToRead,
  VERDICTS,
  type Verdict,
} from '#protocol/judged-rehearsal.ts';
import { openJson } from '../../calls/sessions/sealed-contents.ts';
import { sealerOf } from '../../calls/sessions/session-store.ts';
import type { Context } from '../../platform/context.ts';
import type { JudgedTurnDocument } from '../../platform/store/models/judged-turn-model.ts';
import type { RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { findSessions } from '../../platform/store/session-archive.ts';
import { CONTENT, judgedContent } from './turn-question.ts';

/** Turns to read; of them at most so many that are worse, while there are others. */
const TO_READ = 10;
const MOST_WORSE = 5;

type Turn = Omit<JudgedTurnDocument, 'content'>;
type Judged = Turn & { readonly verdict: Verdict };

/** Reads it; undefined without a judge. */
export async function readJudgedResult(
  context: Pick<Context, 'models' | 'dataKeys' | 'clock'>,
  rehearsal: RehearsalDocument,
): Promise<JudgedResult | undefined> {
  const { judge, status } = rehearsal;
  if (!judge) return undefined;
  const turns = await context.models.judgedTurns
    .find({ rehearsal_id: rehearsal._id }, { content: 0 })
    .sort({ order: 1 })
    .lean<Turn[]>();
  const ofDraft = turns.filter(({ kind }) => kind === 'draft');
  const judged = ofDraft.filter(isJudged);
  const again = turns.filter(({ kind }) => kind === 'again').filter(isJudged);
  const count = (...states: string[]) => ofDraft.filter(({ state }) => states.includes(state)).length;
  return {
    status: status === 'running' ? 'waiting' : status === 'judging' ? 'running' : 'ended',
    model: judge.draft_model,
    judge_model: judge.judge_model,
    max_cost: formatMoney(judge.max_micros),
    cost: formatMoney(judge.spent_micros),
    cost_unknown: formatMoney(judge.lost_micros + judge.asked.reduce((sum, { micros }) => sum + micros, 0)),
    stopped: judge.stopped,
    calls_read: judge.drawn?.calls_read ?? 0,
    turns_found: judge.drawn?.turns_found ?? 0,
    turns_sampled: ofDraft.length,
    turns_judged: judged.length,
    not_judged: { not_asked: count('drawn', 'answered'), failed: count('failed'), gone: count('gone') },
    noise: {
      turns: again.length,
      differing: again.filter(({ verdict }) => verdict !== 'same').length,
      share: shareOf(again, ({ verdict }) => verdict !== 'same'),
    },
    all: figuresOf(judged),
    by_language: groupsOf(judged, ({ language }) => language),
    by_number: groupsOf(judged, ({ number }) => number),
    to_read: await turnsToRead(context, judged),
  };
}

function isJudged(turn: Turn): turn is Judged {
  return turn.state === 'judged' && turn.verdict !== null;
}

function groupsOf(turns: readonly Judged[], nameOf: (turn: Judged) => string): JudgedResult['by_number'] {
  return [...Map.groupBy(turns, nameOf)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, of]) => ({ name, ...figuresOf(of) }));
}

function figuresOf(turns: readonly Judged[]): JudgedFigures {
  const of = (wanted: Verdict) => turns.filter(({ verdict }) => verdict === wanted).length;
  const share = (wanted: Verdict) => shareOf(turns, ({ verdict }) => verdict === wanted);
  return {
    turns: turns.length,
    calls: new Set(turns.map(({ call }) => call)).size,
    ...{ same: of('same'), better: of('better'), worse: of('worse'), different: of('different') },
    same_share: share('same'),
    better_share: share('better'),
    worse_share: share('worse'),
    different_share: share('different'),
  };
}

/** Turns of one call are alike, so the interval counts calls as wholes. */
function shareOf(turns: readonly Judged[], is: (turn: Judged) => boolean): JudgedFigures['same_share'] {
  const sums = [...Map.groupBy(turns, ({ call }) => call).values()].reduce<RatioSums>(
    (before, of) => withUnit(before, of.filter(is).length, of.length),
    NO_UNITS,
  );
  return rounded(clusteredShare(sums));
}

/** Worse ones first, then one of each other verdict in turn; those that are the same tell nothing. */
async function turnsToRead(
  context: Pick<Context, 'models' | 'dataKeys' | 'clock'>,
  turns: readonly Judged[],
): Promise<TurnToRead[]> {
  const readable = turns.filter(({ session_id }) => session_id !== null);
  const of = (wanted: Verdict) => readable.filter(({ verdict }) => verdict === wanted);
  const worse = of('worse');
  const others = VERDICTS.filter((one) => one === 'better' || one === 'different').map(of);
  const chosen = worse.slice(0, MOST_WORSE);
  for (let round = 0; round < TO_READ; round += 1)
    for (const list of others) {
      const turn = list[round];
      if (turn && chosen.length < TO_READ) chosen.push(turn);
    }
  chosen.push(...worse.slice(MOST_WORSE, MOST_WORSE + TO_READ - chosen.length));
  if (chosen.length === 0) return [];
  const ids = chosen.flatMap(({ session_id: id }) => id ?? []);
  const [contents, sessions] = await Promise.all([
    context.models.judgedTurns
      .find({ _id: { $in: chosen.map(({ _id }) => _id) } }, { content: 1 })
      .lean<Pick<JudgedTurnDocument, '_id' | 'content'>[]>(),
    findSessions<SessionDocument>(context, [...new Set(ids)], { wrapped_key: 1 }),
  ]);
  return chosen.flatMap((turn) => {
    const session = sessions.find(({ _id }) => _id === turn.session_id);
    const sealed = contents.find(({ _id }) => _id === turn._id)?.content;
    const content = session && openJson(sealerOf(context, session), sealed, CONTENT, judgedContent);
    if (!content) return [];
    return [
      {
        session_id: session._id,
        ...{ verdict: turn.verdict, at: turn.at.toISOString(), second: turn.second },
        ...{ reason: content.reason, call_answer: content.call_answer, draft_answer: content.answer },
      },
    ];
  });
}
