import { describe, expect, it } from 'vitest';
import type { FinishedSpan } from '#config/tracing.ts';
import { traceSession } from '#control-plane/calls/sessions/trace-session.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import type { EndReason } from '#protocol/session-record.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

/** The root span of a call that ended so. */
function rootOf(end_reason: EndReason, status: 'completed' | 'failed'): FinishedSpan | undefined {
  const spans: FinishedSpan[] = [];
  const session = {
    _id: 'a'.repeat(32),
    agent_id: 'a1',
    agent_name: 'Bistro',
    created_at: new Date(0),
    ended_at: new Date(9_000),
    end_reason,
    status,
    turns: [],
  } as unknown as SessionDocument;
  const tracing = {
    hasContent: false,
    record: (span: FinishedSpan) => `${spans.push(span)}`,
    close: async () => undefined,
  };
  traceSession({ clock: new ManualClock(0), tracing }, session);
  return spans[0];
}

describe('the root span of a call', () => {
  it.each<EndReason>(['user_hangup', 'agent_hangup', 'escalated', 'conversation_timeout'])(
    'is `completed` without an error after `%s`',
    (reason) => {
      const { attributes, error } = rootOf(reason, 'completed') ?? {};
      expect(error).toBeNull();
      expect(attributes).toMatchObject({
        'gen_ai.agent.invocation.end_reason': 'completed',
        'error.type': null,
        'parley.end_reason': reason,
      });
    },
  );

  it.each<EndReason>(['llm_endpoint_failure', 'internal_error', 'heartbeat_timeout', 'agent_join_timeout'])(
    'has failed after `%s`, although the call took place',
    (reason) => {
      const { attributes, error } = rootOf(reason, 'completed') ?? {};
      expect(error).toBe(reason);
      expect(attributes).toMatchObject({
        'gen_ai.agent.invocation.end_reason': 'session_closed',
        'error.type': reason,
        'parley.status': 'completed',
      });
    },
  );

  it('has failed if the call did not take place', () => {
    const { attributes, error } = rootOf('dial_failed', 'failed') ?? {};
    expect(error).toBe('dial_failed');
    expect(attributes).toMatchObject({ 'gen_ai.agent.invocation.end_reason': 'session_closed' });
  });
});
