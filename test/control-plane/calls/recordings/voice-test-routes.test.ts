import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { voiceTest } from '#protocol/voice-test.ts';
import { ExportedCalls } from './exported-call.ts';

let calls: ExportedCalls;
let id: string;
beforeAll(async () => {
  calls = await ExportedCalls.open();
  id = await calls.make();
});
afterAll(() => calls.api.close());

const make = (sessionId: string, query = '', key = calls.user.key) =>
  calls.api.request('GET', `/v1/agent/sessions/${sessionId}/voice-test${query}`, { key });

describe('a voice test over the API', () => {
  it('is made for any key of the team, of a call with a flight log', async () => {
    const { status, body } = await make(id, '?tool=book_table');
    expect(status).toBe(200);
    expect(voiceTest.parse(body).made_from).toMatchObject({ session_id: id, fault: 'tool_not_called' });
    const stranger = await calls.api.createUser();
    expect((await make(id, '', stranger.key)).status).toBe(404);
  });

  it('is not made of a call that runs, or has no flight log', async () => {
    const running = await calls.begin();
    expect((await make(running)).status).toBe(409);
    await calls.end(running);
    expect((await make(running)).body).toMatchObject({ status: 404, reason: 'call_not_recorded' });
  });

  it('is not made of a call whose data is erased', async () => {
    const erased = await calls.make();
    await calls.api.context.models.sessions.updateOne({ _id: erased }, { $set: { wrapped_key: null } });
    expect((await make(erased, '?tool=book_table')).body).toMatchObject({
      status: 404,
      reason: 'call_not_recorded',
    });
  });

  it('needs a fault that exists, and for a tool its name', async () => {
    expect((await make(id, '?fault=boredom')).status).toBe(422);
    expect((await make(id, '?fault=tool_not_called')).body).toMatchObject({
      status: 409,
      reason: 'call_has_no_such_fault',
    });
  });
});
