/** The stretches of an outgoing call in which no person was there, in the detail of its session. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionLine } from '#protocol/session-record.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser();
});
afterAll(() => api.close());

/** The detail of a call that reported these lines. */
async function detailOf(lines: readonly Omit<SessionLine, 'started_at'>[]) {
  const agent_id = await api.publishAgent(user);
  const { body } = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
  const id: string = body.session_id;
  await api.report(id, { type: 'joined', at: api.at() });
  for (const line of lines) await api.report(id, { type: 'line', line: { ...line, started_at: api.at() } });
  await api.report(id, { type: 'ended', at: api.at(60_000), end_reason: 'agent_hangup' });
  const path = `/v1/agent/sessions/${id}`;
  return (await api.request('GET', path, { key: user.key })).body;
}

describe('the lines of a session', () => {
  it('are listed in order, with the time on hold in whole seconds', async () => {
    const { hold_seconds, lines } = await detailOf([
      { line: 'menu', duration_ms: 8_000, ended_by: 'hold' },
      { line: 'hold', duration_ms: 30_400, ended_by: 'person' },
      { line: 'hold', duration_ms: 10_300, ended_by: 'gave_up', gave_up: 'held_too_long' },
    ]);
    expect(lines).toMatchObject([
      { line: 'menu', ended_by: 'hold' },
      { line: 'hold', ended_by: 'person' },
      { line: 'hold', ended_by: 'gave_up', gave_up: 'held_too_long' },
    ]);
    expect(hold_seconds).toBe(41);
  });

  it('have no time on hold without a hold', async () => {
    const detail = await detailOf([{ line: 'screening', duration_ms: 9_000, ended_by: 'person' }]);
    expect(detail.lines).toHaveLength(1);
    expect(detail).not.toHaveProperty('hold_seconds');
  });

  it('are absent from other calls', async () => {
    const detail = await detailOf([]);
    expect(detail).not.toHaveProperty('lines');
    expect(detail).not.toHaveProperty('hold_seconds');
  });
});
