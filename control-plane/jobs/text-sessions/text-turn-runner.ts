/**
 * Runs the turns of text sessions on workers, one at a time in each session. A turn that is stored is
 * answered, whatever is killed meanwhile: a turn of a lost worker runs again, but not of too many
 * (`worker-losses.ts`).
 */
import { Fault } from '#config/errors.ts';
import type { TextTurnResult } from '#protocol/text-turn.ts';
import type { DurableReport, ReportEnvelope } from '#protocol/worker-link.ts';
import { requeueLost, startQueued } from '../../platform/background/queued-jobs.ts';
import type { Context } from '../../platform/context.ts';
import type { ReportOutcome } from '../../platform/report-sink.ts';
import {
  OPEN_TURNS,
  type TextSessionDocument,
  type TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';
import { isLostForGood } from '../../platform/store/worker-losses.ts';
import { smsApology } from './sms-apology.ts';
import { chargeTurn } from './text-charge.ts';
import { finishTurn, settleTurn } from './text-turn-end.ts';
import { textTurnJob } from './text-turn-job.ts';

type TurnReport = Extract<DurableReport, { type: 'text_turn' }>;

/** A turn that no worker has taken for so long is given up. */
const WAIT_MS = 10 * 60_000;
const ERASED: Obstacle = { error: 'The session was erased', isOurs: false };

/**
 * Starts a queued turn if it is the session's next one. False if no worker is free; the turn then stays
 * queued.
 */
export async function startTurn(context: Context, turnId: string): Promise<boolean> {
  const turn = await context.models.textTurns.findById(turnId).lean<TextTurnDocument>();
  if (turn?.status !== 'queued' || (await isBehind(context, turn))) return true;
  const session = await context.models.textSessions.findById(turn.session_id).lean<TextSessionDocument>();
  const obstacle = await obstacleOf(context, session, turn);
  if (obstacle !== null) await giveUp(context, turn, obstacle);
  else if (session) return place(context, session, turn);
  return true;
}

/** Stores the result of a turn; also of an attempt that was given up and not restarted. */
export async function applyTurnReport(
  context: Context,
  envelope: ReportEnvelope,
  { result }: TurnReport,
): Promise<ReportOutcome> {
  const attempt = { _id: envelope.session_id, epoch: envelope.epoch };
  const finished = await finishTurn(context, attempt, await withApology(context, attempt, result));
  if (!finished && !(await context.models.textTurns.exists(attempt))) return { outcome: 'stale' };
  if (finished) await settleAndGoOn(context, finished);
  return { outcome: 'stored', seq: envelope.seq };
}

/** Puts the turns of a lost worker back; `hungIn` is what had blocked its event loop. */
export async function requeueLostTurns(
  context: Context,
  instanceId: string,
  hungIn: string | null,
): Promise<void> {
  const lost = await requeueLost(context, context.models.textTurns, { instanceId, hungIn });
  if (lost > 0) context.workSignals.notify('text-sessions');
}

/** Settles a turn that is over and starts the next one of its session. */
export async function settleAndGoOn(context: Context, turn: TextTurnDocument): Promise<void> {
  await settleTurn(context, turn);
  const next = await context.models.textTurns
    .findOne({ session_id: turn.session_id, status: 'queued' }, { _id: 1 })
    .sort({ number: 1 })
    .lean<Pick<TextTurnDocument, '_id'>>();
  if (next && !(await startTurn(context, next._id))) context.workSignals.notify('text-sessions');
}

/** A worker that has failed itself has no words for the person. */
async function withApology(
  context: Context,
  { _id }: Pick<TextTurnDocument, '_id'>,
  result: TextTurnResult,
): Promise<TextTurnResult> {
  if (result.error === null || result.reply !== '') return result;
  const turn = await context.models.textTurns.findById(_id).lean<TextTurnDocument>();
  return turn ? { ...result, reply: await smsApology(context, turn) } : result;
}

async function isBehind({ models }: Context, { session_id, number }: TextTurnDocument): Promise<boolean> {
  const earlier = { number: { $lt: number }, status: { $in: [...OPEN_TURNS] } };
  // A later one can run: messages that are sent at once are not stored in the order of their numbers.
  const ahead = { session_id, $or: [earlier, { status: 'running' as const }] };
  return (await models.textTurns.exists(ahead)) !== null;
}

/** Why there is no answer. */
interface Obstacle {
  readonly error: string;
  /** The fault is not the person's nor the account's: an apology is due. */
  readonly isOurs: boolean;
}

/** Why a turn cannot be answered; null if it can be. */
async function obstacleOf(
  context: Context,
  session: TextSessionDocument | null,
  turn: TextTurnDocument,
): Promise<Obstacle | null> {
  if (session?.wrapped_key == null) return ERASED;
  if (session.status === 'ended') return silent('The session ended before this message');
  if (isLostForGood(turn.losses ?? {})) return { error: 'The turn lost its worker too often', isOurs: true };
  if (context.clock.wallTime() - turn.created_at.getTime() > WAIT_MS)
    return { error: 'No agent worker was free', isOurs: true };
  try {
    return (await chargeTurn(context, turn)) ? null : silent('The charge was returned');
  } catch (error) {
    if (error instanceof Fault) return silent(error.message);
    throw error;
  }
}

function silent(error: string): Obstacle {
  return { error, isOurs: false };
}

async function place(
  context: Context,
  session: TextSessionDocument,
  turn: TextTurnDocument,
): Promise<boolean> {
  const job = await textTurnJob(context, session, turn);
  if (!job) {
    await giveUp(context, turn, ERASED);
    return true;
  }
  return startQueued(
    context,
    { model: context.models.textTurns, job: turn },
    {
      kind: 'text_turn',
      assign: (placement, key) => context.dispatch.assignTextTurn(placement, key, job),
    },
  );
}

async function giveUp(context: Context, turn: TextTurnDocument, { error, isOurs }: Obstacle): Promise<void> {
  const reply = isOurs ? await smsApology(context, turn) : '';
  const result: TextTurnResult = { reply, items: [], has_ended: false, error, usage: [] };
  const finished = await finishTurn(context, turn, result);
  if (finished) await settleAndGoOn(context, finished);
}
