/** The statistics of sessions, counted plainly: the answer that the API must give. */
import { formatMoney } from '#base/money.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';

const HOUR_MS = 3_600_000;
const STEP_MS = { hour: HOUR_MS, day: 24 * HOUR_MS } as const;

/** A range of time, ms since 1970, and what is asked about it. */
export interface PlainQuestion {
  readonly fromMs: number;
  readonly toMs: number;
  readonly interval: 'hour' | 'day';
  readonly agentId?: string | undefined;
}

/** The answer without the names of agents, which are in order of their ids. */
export function plainCount(sessions: readonly SessionDocument[], question: PlainQuestion) {
  const { fromMs, toMs, interval, agentId } = question;
  const stepMs = STEP_MS[interval];
  const counted = sessions.filter(
    ({ created_at: at, status, is_listed, agent_id }) =>
      at.getTime() >= fromMs &&
      at.getTime() < toMs &&
      is_listed &&
      ['active', 'unknown', 'completed', 'failed'].includes(status) &&
      (agentId === undefined || agent_id === agentId),
  );
  const buckets = [];
  for (let start = Math.floor(fromMs / stepMs) * stepMs; start < toMs; start += stepMs)
    buckets.push({
      start: new Date(start).toISOString(),
      ...sumsOf(counted.filter(({ created_at: at }) => Math.floor(at.getTime() / stepMs) * stepMs === start)),
    });
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    interval,
    truncated: false,
    totals: sumsOf(counted),
    buckets,
    agents: [...new Set(counted.map(({ agent_id }) => agent_id))]
      .sort()
      .map((id) => ({ agent_id: id, ...sumsOf(counted.filter(({ agent_id }) => agent_id === id)) })),
  };
}

/** An answer of the API in the form of `plainCount`. */
// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
export function withoutNames({ agents, ...answer }: any) {
  return {
    ...answer,
    agents: agents
      .map(({ agent_name: _, ...agent }: { agent_id: string; agent_name: string }) => agent)
      .sort((a: { agent_id: string }, b: { agent_id: string }) => (a.agent_id < b.agent_id ? -1 : 1)),
  };
}

function sumsOf(sessions: readonly SessionDocument[]) {
  const answered = sessions.filter(({ started_at }) => started_at !== null).length;
  const live = sessions.filter(({ status }) => status === 'active' || status === 'unknown').length;
  const seconds = sessions.reduce((sum, { duration_seconds }) => sum + (duration_seconds ?? 0), 0);
  const micros = sessions.reduce((sum, { billing }) => sum + costOf(billing), 0);
  const waits = sessions
    .flatMap(({ turns }) => turns.map(({ total_ms }) => Math.min(9_990, Math.round(total_ms / 10) * 10)))
    .sort((a, b) => a - b);
  const rank = (share: number) => waits[Math.ceil(waits.length * share) - 1] ?? null;
  const reasons: Record<string, number> = {};
  for (const { end_reason: reason } of sessions)
    if (reason !== null) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return {
    calls: sessions.length,
    answered,
    answer_rate: sessions.length === 0 ? null : answered / sessions.length,
    live,
    total_seconds: seconds,
    average_seconds: answered > live ? seconds / (answered - live) : null,
    cost: formatMoney(micros),
    latency: { turns: waits.length, p50_ms: rank(0.5), p95_ms: rank(0.95), p99_ms: rank(0.99) },
    end_reasons: reasons,
  };
}

function costOf({ state, hold, due }: SessionDocument['billing']): number {
  if (state === 'free' || state === 'hold_due') return 0;
  return state === 'held' ? hold : hold - due;
}
