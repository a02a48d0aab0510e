/**
 * From a received text message to a turn of a text session: one session for each person and number until it
 * is idle. The messages of one person are handled in their order, by one replica at a time.
 */
import { Fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { liveVersions, versionOfCall } from '../../catalogue/agents/version-of-call.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { takeLease } from '../../platform/store/lease.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { NumberDocument, NumberSms } from '../../platform/store/models/number-model.ts';
import {
  type SmsMessageDocument,
  type SmsThreadDocument,
  smsThreadId,
} from '../../platform/store/models/sms-model.ts';
import type { TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import { acceptMessage } from '../text-sessions/accept-message.ts';
import { beginTurn } from '../text-sessions/answer-turn.ts';
import { queueSms } from '../text-sessions/queue-sms.ts';
import { createTextSession, endTextSession } from '../text-sessions/text-session-store.ts';
import { type Keyword, keywordAnswer, keywordOf } from './keywords.ts';
import { lastConversation } from './last-conversation.ts';

const LEASE_MS = 30_000;
/** Problems that pass: the message is tried again. */
const PASSING = new Set([
  'text_turns_waiting',
  'too_many_at_once',
  'too_many_a_minute',
  'database_unavailable',
]);
/** A message that could not become a turn for so long is given up. */
const TRIES_MS = 10 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/** Handles the waiting messages of one person to one number. */
export async function handleThread(
  context: Context,
  holder: string,
  { number_id, person, team_id }: Pick<SmsMessageDocument, 'number_id' | 'person' | 'team_id'>,
): Promise<void> {
  const id = smsThreadId({ number_id, person });
  await context.models.smsThreads.updateOne(
    { _id: id },
    {
      $setOnInsert: {
        number_id,
        person,
        team_id,
        session_id: null,
        stopped_at: null,
        lease_by: null,
        lease_until: null,
      },
    },
    { upsert: true },
  );
  const leased = { model: context.models.smsThreads, filter: { _id: id } };
  const thread = await takeLease(context, leased, { holder, ms: LEASE_MS });
  if (!thread) return;
  try {
    const waiting = await context.models.smsMessages
      .find({ number_id, person, state: 'received' })
      .sort({ created_at: 1, _id: 1 })
      .limit(LIMITS.textWaitingTurns)
      .lean<SmsMessageDocument[]>();
    for (const message of waiting) if (!(await handle(context, id, message))) break;
  } finally {
    await context.models.smsThreads.updateOne({ _id: id, lease_by: holder }, { $set: { lease_until: null } });
  }
}

/** False if the message has to wait. */
async function handle(context: Context, threadId: string, message: SmsMessageDocument): Promise<boolean> {
  const [thread, number] = await Promise.all([
    context.models.smsThreads.findById(threadId).lean<SmsThreadDocument>(),
    context.models.numbers.findById(message.number_id).lean<NumberDocument>(),
  ]);
  const agent =
    number?.sms && (await context.models.agents.findById(number.sms.agent_id).lean<AgentDocument>());
  if (!thread || !number?.sms || !agent || message.text === null) {
    await markHandled(context, message, 'the number has no agent for messages');
    return true;
  }
  const text = context.secretBox.open(message.text, 'sms');
  const keyword = message.answered_keyword ?? keywordOf(text);
  const isTooMany = await exceedsLimit(context, message);
  if (keyword) {
    const isAnswered = message.answered_keyword !== null || isTooMany;
    await obey(context, { thread, message, agentName: agent.name, isAnswered }, keyword);
  } else if (thread.stopped_at !== null) await markHandled(context, message, 'the person wants no messages');
  else if (isTooMany) await markHandled(context, message, 'too many messages of the person in 24 hours');
  else return converse(context, { thread, message, agent, number, sms: number.sms, text });
  return true;
}

/** Two machines that answer each other would go on for ever. */
async function exceedsLimit(
  { models, settings, clock }: Context,
  { number_id, person }: SmsMessageDocument,
): Promise<boolean> {
  const limit = settings.LIMIT_SMS_PER_PERSON;
  if (limit === Number.POSITIVE_INFINITY) return false;
  const since = new Date(clock.wallTime() - DAY_MS);
  const handled = { number_id, person, state: 'handled' as const, created_at: { $gte: since } };
  return (await models.smsMessages.countDocuments(handled).limit(limit)) >= limit;
}

async function obey(
  context: Context,
  {
    thread,
    message,
    agentName,
    isAnswered,
  }: {
    readonly thread: SmsThreadDocument;
    readonly message: SmsMessageDocument;
    readonly agentName: string;
    /** No answer is due. */
    readonly isAnswered: boolean;
  },
  keyword: Keyword,
): Promise<void> {
  const { smsThreads } = context.models;
  // First, so that a repetition after a crash still finds the person not yet stopped. A stop has one answer.
  if (!isAnswered && (keyword !== 'STOP' || thread.stopped_at === null))
    await queueSms(context, {
      id: message._id,
      number_id: message.number_id,
      team_id: message.team_id,
      person: message.person,
      session_id: null,
      text: keywordAnswer(keyword, agentName),
    });
  if (keyword === 'STOP') {
    await smsThreads.updateOne({ _id: thread._id }, { $set: { stopped_at: now(context) } });
    if (thread.session_id !== null) await endTextSession(context, thread.session_id, 'client');
  } else if (keyword === 'START')
    await smsThreads.updateOne({ _id: thread._id }, { $set: { stopped_at: null } });
  await markHandled(context, message, keyword);
}

/** The parts from which a message becomes a turn. */
interface Incoming {
  readonly thread: SmsThreadDocument;
  readonly message: SmsMessageDocument;
  readonly agent: AgentDocument;
  readonly number: NumberDocument;
  readonly sms: NumberSms;
  readonly text: string;
}

/** False if the message has to wait. */
async function converse(context: Context, incoming: Incoming): Promise<boolean> {
  const { message, text } = incoming;
  try {
    const session = await sessionOf(context, incoming);
    if (!session) {
      await markHandled(context, message, 'the agent is not published, or archived');
      return true;
    }
    const turn = await acceptMessage(context, session, {
      content: text.trim() === '' ? '[an empty message]' : text.slice(0, LIMITS.textMessageChars),
      key: `sms:${message._id}`,
      isStreamed: false,
    });
    await markHandled(context, message, '', session._id);
    beginTurn(context, turn);
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // Ended in between: the next attempt begins another session.
    if (error.code === 'text_session_ended') return false;
    const isOld = context.clock.wallTime() - message.created_at.getTime() > TRIES_MS;
    if (PASSING.has(error.code) && !isOld) return false;
    await markHandled(context, message, error.message);
    return true;
  }
}

/** The session that goes on, or a new one; null if the agent cannot answer. */
async function sessionOf(
  context: Context,
  { thread, message, agent, number, sms }: Incoming,
): Promise<TextSessionDocument | null> {
  const { textSessions, smsThreads, textTurns } = context.models;
  // A message whose turn was stored before a crash belongs to that turn's session.
  const key = `sms:${message._id}`;
  const known = thread.session_id
    ? await textSessions.findById(thread.session_id).lean<TextSessionDocument>()
    : null;
  if (known && (isOpen(known) || (await textTurns.exists({ session_id: known._id, key }))))
    if (known.agent_id === agent._id) return known;
  const { version, share } = await liveVersions(context, agent._id);
  if (!version || agent.status === 'archived') return null;
  const drawn = { caller: message.person, sessionId: newId() };
  const session = await createTextSession(context, {
    agent,
    ...(await versionOfCall(context, { version, share }, drawn)),
    sessionId: drawn.sessionId,
    payer: { userId: number.user_id },
    medium: 'sms',
    sms: { number_id: number._id, person: message.person, own: number.phone_number },
    request: {
      agent_id: agent._id,
      world_context: true,
      continue_session_id: await lastConversation(context, { agent, person: message.person, sms, thread }),
    },
  });
  await smsThreads.updateOne({ _id: thread._id }, { $set: { session_id: session._id } });
  return session;
}

/** It takes another message. */
function isOpen({ status, wrapped_key, turns }: TextSessionDocument): boolean {
  return status === 'active' && wrapped_key !== null && turns < LIMITS.textSessionTurns;
}

async function markHandled(
  context: Context,
  { _id }: SmsMessageDocument,
  note: string,
  sessionId: string | null = null,
): Promise<void> {
  await context.models.smsMessages.updateOne(
    { _id, state: 'received' },
    { $set: { state: 'handled', state_at: now(context), text: null, note, session_id: sessionId } },
  );
  context.metrics.smsMessages.inc({ outcome: sessionId === null ? 'ignored' : 'received' });
}
