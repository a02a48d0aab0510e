/**
 * The root span of a call's trace, from the request to the end of the call. The worker records the spans
 * within it.
 */
import { GEN_AI, type InvocationEnd, OPERATION } from '#config/gen-ai.ts';
import { callTraceparent } from '#config/tracing.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** Records the root span of a session that has just ended. */
export function traceSession(
  { clock, tracing }: Pick<Context, 'clock' | 'tracing'>,
  session: SessionDocument,
): void {
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
      [GEN_AI.endReason]: (session.status === 'failed'
        ? 'session_closed'
        : 'completed') satisfies InvocationEnd,
      [GEN_AI.errorType]: session.status === 'failed' ? session.end_reason : null,
      'parley.channel': session.channel,
      'parley.session_id': session._id,
      'parley.agent_id': session.agent_id,
      'parley.team_id': session.team_id,
      'parley.status': session.status,
      'parley.end_reason': session.end_reason,
      'parley.duration_seconds': session.duration_seconds,
      'parley.turns': session.turns.length,
    },
    error: session.status === 'failed' ? session.end_reason : null,
  });
}
