/**
 * Accepts a message of a text session: stores it as a turn, then charges it. A message with a key that the
 * session has seen is the same turn again, so nothing runs or costs twice.
 */
import { createHash } from 'node:crypto';
import { Fault, fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { requireDailyCaps } from '../../accounts/limits/spend-limits.ts';
import { sealerOf } from '../../calls/sessions/session-store.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { requireRate } from '../../platform/limits/rate.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { insertDocument } from '../../platform/store/insert-documents.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import {
  OPEN_TURNS,
  type TextSessionDocument,
  type TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';
import { requireFewer } from '../../platform/store/stored-count.ts';
import { chargeTurn } from './text-charge.ts';
import { idleFrom } from './text-session-store.ts';

const RETRY_SECONDS = 5;

/** A message as it was sent. */
export interface NewMessage {
  /** Null: the agent opens the conversation. */
  readonly content: string | null;
  /** Null: the message cannot be repeated. */
  readonly key: string | null;
  readonly isStreamed: boolean;
}

/**
 * Returns the turn of a message, new or seen before. Throws `idempotency_key_reuse`, `text_session_ended`,
 * `text_turns_waiting`, `too_many_at_once`, `too_many_a_minute`, `daily_cap_reached`, `out_of_credit` and
 * `bad_request`; after an error nothing is charged.
 */
export async function acceptMessage(
  context: Context,
  session: TextSessionDocument,
  message: NewMessage,
): Promise<TextTurnDocument> {
  const key = message.key ?? newId();
  const hash = hashOf(message.content);
  const known = message.key === null ? null : await findByKey(context, session, key, hash);
  if (known) return known;
  await requireRoom(context, session, message);
  const turn = turnOf(context, session, { message, key, hash, number: await takeNumber(context, session) });
  try {
    await insertDocument(context.models.textTurns, turn);
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    const first = await findByKey(context, session, key, hash);
    // Refused for lack of credit in the meantime.
    if (!first) throw fault('out_of_credit');
    return first;
  }
  await charge(context, turn);
  return turn;
}

async function charge(context: Context, turn: TextTurnDocument): Promise<void> {
  try {
    await chargeTurn(context, turn);
  } catch (error) {
    if (error instanceof Fault && error.code === 'out_of_credit')
      await context.models.textTurns.deleteOne({ _id: turn._id, status: 'queued', billing: 'due' });
    throw error;
  }
}

async function findByKey(
  { models }: Pick<Context, 'models'>,
  session: TextSessionDocument,
  key: string,
  hash: string,
): Promise<TextTurnDocument | null> {
  const turn = await models.textTurns.findOne({ session_id: session._id, key }).lean<TextTurnDocument>();
  if (turn && turn.message_hash !== hash) throw fault('idempotency_key_reuse');
  return turn;
}

async function requireRoom(
  context: Context,
  session: TextSessionDocument,
  { content }: NewMessage,
): Promise<void> {
  if (session.status === 'ended' || session.wrapped_key === null) throw fault('text_session_ended');
  if (content === null && session.turns > 0)
    throw fault('bad_request', { detail: 'content is required: the conversation has begun' });
  const { LIMIT_TEXT_MESSAGES_PER_MINUTE: perMinute, LIMIT_TEXT_TURNS: limit } = context.settings;
  const { user_id, agent_id } = session;
  await requireRate(context, { key: `text:${user_id}`, limit: perMinute, what: 'text messages' });
  const agent = await context.models.agents.findById(agent_id).lean<AgentDocument>();
  // A deleted agent goes on in its sessions, without limits of its own.
  const limited = agent ?? { _id: agent_id, team_id: session.team_id };
  await requireDailyCaps(context, { agent: limited, payer: { userId: user_id } });
  const open = { status: { $in: [...OPEN_TURNS] } };
  const waiting = await context.models.textTurns.countDocuments({ session_id: session._id, ...open });
  if (waiting >= LIMITS.textWaitingTurns)
    throw fault('text_turns_waiting', { limit: LIMITS.textWaitingTurns });
  await requireFewer(
    context.models.textTurns,
    { user_id, ...open },
    {
      limit,
      what: 'text messages that wait for an answer',
      remedy: 'wait for one',
      seconds: RETRY_SECONDS,
    },
  );
}

/** Takes the next number. A gap, left by a crash or a refusal, is harmless. */
async function takeNumber(context: Context, session: TextSessionDocument): Promise<number> {
  const taken = await context.models.textSessions
    .findOneAndUpdate(
      { _id: session._id, status: 'active', turns: { $lt: LIMITS.textSessionTurns } },
      { $inc: { turns: 1 }, $set: { last_at: now(context), idle_at: idleFrom(context) } },
      { returnDocument: 'after' },
    )
    .lean<TextSessionDocument>();
  if (!taken) throw fault('text_session_ended');
  return taken.turns;
}

function turnOf(
  context: Context,
  session: TextSessionDocument,
  {
    message: { content, isStreamed },
    key,
    hash,
    number,
  }: {
    readonly message: NewMessage;
    readonly key: string;
    readonly hash: string;
    readonly number: number;
  },
): TextTurnDocument {
  const at = now(context);
  const { PRICE_TEXT_PER_MESSAGE, PRICE_SMS_PER_MESSAGE } = context.settings;
  const price = PRICE_TEXT_PER_MESSAGE + (session.medium === 'sms' ? PRICE_SMS_PER_MESSAGE : 0);
  return {
    _id: newId(),
    session_id: session._id,
    team_id: session.team_id,
    user_id: session.user_id,
    agent_id: session.agent_id,
    number,
    key,
    message_hash: hash,
    status: 'queued',
    status_at: at,
    is_streamed: isStreamed,
    instance_id: null,
    epoch: 0,
    created_at: at,
    finished_at: null,
    message: content === null ? null : (sealerOf(context, session)?.seal(content, 'message') ?? null),
    items: null,
    items_bytes: 0,
    reply: null,
    error: null,
    usage: [],
    price,
    billing: price === 0 ? 'free' : 'due',
    is_unsettled: false,
    ends_session: false,
  };
}

function hashOf(content: string | null): string {
  return createHash('sha256')
    .update(content === null ? 'null' : `text:${content}`)
    .digest('hex');
}
