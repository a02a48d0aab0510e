/**
 * Spend guards: daily caps and concurrent-call limits of an account and of an agent, checked before a session
 * is created, admitted or dialled. Concurrent calls are counted exactly. Daily caps are approximate:
 * concurrent creations may exceed a cap together, and calls in progress are not cut off.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { LedgerDocument } from '../../platform/store/models/ledger-model.ts';
import type { SpendLimits, UserDocument } from '../../platform/store/models/user-model.ts';
import { DIRECTIONS, UNDER_WAY_STATUSES } from '../../platform/store/session-status.ts';
import { type CountedSessions, holdingPlaces } from './session-places.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

type Parts = Pick<Context, 'models' | 'caches' | 'clock'>;
type LimitedAgent = Pick<AgentDocument, '_id' | 'team_id' | 'limits'>;

/** The account that pays for a call, with its limits if the request has already loaded them. */
export interface Payer {
  readonly userId: string;
  readonly spendLimits?: SpendLimits;
}

/** A call that is about to be created. */
export interface LimitedCall {
  readonly agent: LimitedAgent;
  readonly payer: Payer;
  readonly sessionId: string;
}

/**
 * Creates a call within the limits of its agent and its payer. Throws `daily_cap_reached`,
 * `concurrent_calls_reached` and whatever `create` throws; after an error no place stays taken.
 */
export async function withinLimits<Created>(
  context: Parts,
  call: LimitedCall,
  create: () => Promise<Created>,
): Promise<Created> {
  const { agent, payer, sessionId } = call;
  const owner = payer.userId;
  const account = await requireDailyCaps(context, call);
  const counted = [
    ...callsOf(context, {
      id: agentCalls(agent._id),
      whose: { team_id: agent.team_id, agent_id: agent._id },
      of: 'agent',
      limit: agent.limits?.concurrent_calls,
    }),
    ...callsOf(context, {
      id: accountCalls(owner),
      whose: { team_id: agent.team_id, user_id: owner },
      of: 'account',
      limit: account?.concurrent_calls,
    }),
  ];
  return holdingPlaces(context, { counted, sessionId }, create);
}

/**
 * Throws `daily_cap_reached` if the agent or its payer has spent what it may today; returns the payer's
 * limits.
 */
export async function requireDailyCaps(
  context: Parts,
  { agent, payer }: Pick<LimitedCall, 'agent' | 'payer'>,
): Promise<Partial<SpendLimits> | null> {
  const owner = payer.userId;
  const account =
    payer.spendLimits ??
    (await context.caches.users(owner, () => context.models.users.findById(owner).lean<UserDocument>()));
  await Promise.all([
    requireSpend({ of: 'agent', cap: agent.limits?.daily_cap }, () => spentByAgent(context, agent)),
    requireSpend({ of: 'account', cap: account?.daily_cap }, () => spentByAccount(context, owner)),
  ]);
  return account;
}

/** Id of the list that counts an agent's calls. */
export function agentCalls(agentId: string): string {
  return `agent-calls:${agentId}`;
}

/** Id of the list that counts an account's calls. */
export function accountCalls(userId: string): string {
  return `account-calls:${userId}`;
}

function callsOf(
  { models }: Parts,
  counting: {
    readonly id: string;
    readonly whose: Readonly<Record<string, string>>;
    readonly of: string;
    readonly limit: SpendLimits['concurrent_calls'] | undefined;
  },
): CountedSessions[] {
  const { id, whose, of, limit } = counting;
  if (limit === null || limit === undefined) return [];
  // Both directions, so that the index of an agent, which has all its past calls, fits less.
  const live = { ...whose, status: { $in: [...UNDER_WAY_STATUSES] }, direction: { $in: [...DIRECTIONS] } };
  const earlier = async () => (await models.sessions.find(live, { _id: 1 }).lean()).map(({ _id }) => _id);
  return [
    {
      id,
      limit,
      statuses: UNDER_WAY_STATUSES,
      earlier,
      refusal: fault('concurrent_calls_reached', { of, limit }),
    },
  ];
}

async function requireSpend(
  { of, cap }: { readonly of: string; readonly cap: SpendLimits['daily_cap'] | undefined },
  spent: () => Promise<number>,
): Promise<void> {
  if (cap === null || cap === undefined) return;
  if ((await spent()) >= cap) throw fault('daily_cap_reached', { of });
}

/**
 * Micro-dollars spent from the wallet since midnight UTC. Needs only two ledger entries, however many there
 * are.
 */
async function spentByAccount({ models, clock }: Parts, owner: string): Promise<number> {
  const [newest, before] = await Promise.all([
    models.ledger.findOne({ user_id: owner }).sort({ seq: -1 }).lean<LedgerDocument>(),
    models.ledger
      .findOne({ user_id: owner, at: { $lt: midnight(clock) } })
      .sort({ at: -1, seq: -1 })
      .lean<LedgerDocument>(),
  ]);
  return spentUpTo(newest) - spentUpTo(before);
}

function spentUpTo(entry: LedgerDocument | null): number {
  return entry ? entry.cumulative_top_up - entry.balance : 0;
}

/**
 * Cost in micro-dollars of the agent's calls and text messages that began since midnight UTC. A call in
 * progress counts with its first minute. A capped agent has few calls.
 */
async function spentByAgent({ models, clock }: Parts, agent: LimitedAgent): Promise<number> {
  const today = { agent_id: agent._id, created_at: { $gte: midnight(clock) } };
  const [[calls], [messages]] = await Promise.all([
    models.sessions.aggregate<{ held: number; due: number }>([
      { $match: { team_id: agent.team_id, ...today } },
      { $group: { _id: null, held: { $sum: '$billing.hold' }, due: { $sum: '$billing.due' } } },
    ]),
    models.textTurns.aggregate<{ paid: number }>([
      { $match: { ...today, billing: 'paid' } },
      { $group: { _id: null, paid: { $sum: '$price' } } },
    ]),
  ]);
  return (calls ? calls.held - calls.due : 0) + (messages?.paid ?? 0);
}

function midnight(clock: Parts['clock']): Date {
  const wallTime = clock.wallTime();
  return new Date(wallTime - (wallTime % DAY_MS));
}
