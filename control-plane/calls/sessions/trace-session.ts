/**
 * The root span of a call's trace, from the request to the end of the call. The worker records the spans
 * within it.
 */
import { GEN_AI, type InvocationEnd, OPERATION } from '#config/gen-ai.ts';
import { callTraceparent } from '#config/tracing.ts';
import { BREAKDOWNS, type EndReason } from '#protocol/session-record.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** Records the root span of a session that has just ended. */
export function traceSession(
  { clock, tracing }: Pick<Context, 'clock' | 'tracing'>,
  session: SessionDocument,
): void {
  const error = failureOf(session);
  tracing?.record({
    name: `${OPERATION.agent} ${session.agent_name}`,
    as: callTraceparent(session._id),
    startMs: session.created_at.getTime(),
    endMs: session.ended_at?.getTime() ?? clock.wallTime(),
    attributes: {
      [GEN_AI.operation]: OPERATION.agent,
      [GEN_AI.agentId]: session.agent_id,
      [GEN_AI.agentName]: session.agent_name,
      [GEN_AI.conversationId]: session._id,
      [GEN_AI.endReason]: (error === null ? 'completed' : 'session_closed') satisfies InvocationEnd,
      [GEN_AI.errorType]: error,
      'parley.channel': session.channel,
      'parley.session_id': session._id,
      'parley.agent_id': session.agent_id,
      'parley.team_id': session.team_id,
      'parley.status': session.status,
      'parley.end_reason': session.end_reason,
      'parley.duration_seconds': session.duration_seconds,
      'parley.turns': session.turns.length,
    },
    error,
  });
}

/** Why a call failed or broke down; null if it ended as a call should. */
function failureOf({ end_reason: reason, status }: SessionDocument): EndReason | null {
  return reason !== null && (status === 'failed' || BREAKDOWNS.has(reason)) ? reason : null;
}
