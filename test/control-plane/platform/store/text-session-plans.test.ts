import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTextSessions, type TextSessions } from '../../jobs/text-sessions/open-text-sessions.ts';
import { QueryListener } from './listen-to-queries.ts';

const STORED = 200;
/** Every twentieth session. */
const RARE = {
  agent_id: 'rare-agent',
  status: 'ended',
  end_user_id: 'rare-user',
  continued_from: 'rare-session',
  sms: { number_id: 'n-1', person: '+15550100077', own: '+15550100001' },
};

let api: TextSessions;

beforeAll(async () => {
  api = await openTextSessions();
  const id = await api.create();
  const { textSessions } = api.context.models;
  const stored = await textSessions.findById(id).lean();
  const copies = Array.from({ length: STORED }, (_, index) => ({
    ...stored,
    _id: `copy-${index}`,
    ...(index % 20 === 0 ? RARE : {}),
    // Every second one of them belongs to another team.
    ...(index % 40 === 0 ? { team_id: 'other' } : {}),
    created_at: new Date(api.clock.wallTime() - index * 1_000),
  }));
  await textSessions.collection.insertMany(copies as never[]);
});
afterAll(() => api.close());

describe('the list of text sessions', () => {
  it.each([
    ['an agent', 'agent_id=rare-agent'],
    ['a status', 'status=ended'],
    ['a user', 'end_user_id=rare-user'],
    ['the session before', 'continued_from=rare-session'],
    ['a number', 'caller_number=15550100077'],
  ])('finds those of %s without looking at others, in order and in the team only', async (_, parameters) => {
    const listener = new QueryListener(api.context.models.textSessions.collection);
    const { text_sessions: found } = await api.get(`/v1/agent/text-sessions?${parameters}`);
    const plans = (await listener.explain()).filter(({ filter }) => 'team_id' in filter);
    const theirs = Array.from({ length: STORED / 40 }, (__, index) => `copy-${index * 40 + 20}`);
    expect(found.map((row: { text_session_id: string }) => row.text_session_id)).toEqual(theirs);
    expect(plans).toMatchObject([{ isSortedLate: false, wasted: 0 }]);
  });
});
