/** The background work of text sessions: whatever a request, a report or a crash has left to do. */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { requeueSilent } from '../../platform/background/queued-jobs.ts';
import type { Context } from '../../platform/context.ts';
import {
  OPEN_TURNS,
  type TextSessionDocument,
  type TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';
import { analyseEnded } from './text-analysis.ts';
import { endTextSession } from './text-session-store.ts';
import { settleAndGoOn, startTurn } from './text-turn-runner.ts';

/** A worker ends a turn within four minutes. */
const DEADLINE_MS = 5 * 60_000;
const TICK_MS = 2_000;
const BATCH = 200;
/** A request charges its message itself. */
const OWN_CHARGE_MS = 5_000;

/** Starts the loop of a process. */
export function startTextSessions(context: Context): BackgroundLoop {
  const { textSessions, textTurns } = context.models;
  const isDone = async () =>
    (await textSessions.exists({ status: 'active' })) === null &&
    (await textTurns.exists({ status: { $in: [...OPEN_TURNS] } })) === null &&
    (await textTurns.exists({ is_unsettled: true })) === null &&
    (await textSessions.exists({ 'analysis.state': { $in: ['queued', 'running'] } })) === null;
  const options = {
    name: 'text-sessions',
    everyMs: TICK_MS,
    chore: 'text-sessions',
    isDone,
    waitsFor: ['textSessions', 'textTurns'],
  } as const;
  return startBackgroundLoop(context, options, () => work(context));
}

async function work(context: Context): Promise<void> {
  const silentSince = new Date(context.clock.wallTime() - DEADLINE_MS);
  await requeueSilent(context, context.models.textTurns, silentSince);
  await settleLeft(context);
  await startQueued(context);
  await endIdle(context);
  await analyseEnded(context);
}

/** Turns whose process was killed between their end and what follows from it. */
async function settleLeft(context: Context): Promise<void> {
  const left = await context.models.textTurns
    .find({ is_unsettled: true })
    .limit(BATCH)
    .lean<TextTurnDocument[]>();
  for (const turn of left) await settleAndGoOn(context, turn);
}

async function startQueued(context: Context): Promise<void> {
  const old = new Date(context.clock.wallTime() - OWN_CHARGE_MS);
  const queued = await context.models.textTurns
    .find({ status: 'queued', $or: [{ billing: { $ne: 'due' } }, { created_at: { $lte: old } }] }, { _id: 1 })
    .sort({ status_at: 1 })
    .limit(BATCH)
    .lean<Pick<TextTurnDocument, '_id'>[]>();
  for (const { _id } of queued) if (!(await startTurn(context, _id))) return;
}

async function endIdle(context: Context): Promise<void> {
  const { textSessions, textTurns } = context.models;
  const idle = await textSessions
    .find({ status: 'active', idle_at: { $lte: new Date(context.clock.wallTime()) } }, { _id: 1 })
    .limit(BATCH)
    .lean<Pick<TextSessionDocument, '_id'>[]>();
  for (const { _id } of idle) {
    const open = { session_id: _id, status: { $in: [...OPEN_TURNS] } };
    if ((await textTurns.exists(open)) === null) await endTextSession(context, _id, 'idle');
  }
}
