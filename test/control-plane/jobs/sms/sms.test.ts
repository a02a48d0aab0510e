import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import { NUMBER, openSms, PERSON, PUBLIC_URL, type Sms } from './open-sms.ts';

let sms: Sms;
let { api, twilio, user, agentId, numberId, request, bind, idle, arrives, deliver, answers, sent, sessions } =
  {} as Sms;
beforeEach(async () => {
  sms = await openSms();
  ({ api, twilio, user, agentId, numberId } = sms);
  ({ request, bind, idle, arrives, deliver, answers, sent, sessions } = sms);
});
afterEach(() => sms.close());

describe('a number with an agent for text messages', () => {
  it('has the carrier send them here, reads as before until it has one and after it has none', async () => {
    const before = await request('GET', `/v1/agent/phone-numbers/${numberId}`);
    expect(before.body).not.toHaveProperty('sms');
    expect((await bind()).body.sms).toEqual({ agent_id: agentId, continue_minutes: 1_440 });
    expect(twilio.owned).toMatchObject([{ sms_url: `${PUBLIC_URL}/carriers/message` }]);
    expect((await bind(null)).body).not.toHaveProperty('sms');
    expect(twilio.owned).toMatchObject([{ sms_url: '' }]);
  });

  it('must be one that the carrier has messages for, and the agent one of the team', async () => {
    const imported = await request('POST', '/v1/agent/phone-numbers', {
      provider: 'sip',
      phone_number: '+14155550199',
      inbound_allowed_addresses: ['203.0.113.9'],
    });
    const refused = await request('PATCH', `/v1/agent/phone-numbers/${imported.body.phone_number_id}`, {
      sms: { agent_id: agentId },
    });
    expect(refused.status).toBe(409);
    const stranger = await api.createUser();
    const theirs = await api.publishAgent(stranger);
    expect((await bind({ agent_id: theirs })).status).toBe(404);
  });
});

describe('a text message', () => {
  beforeEach(() => bind());

  it('is acknowledged at once with nothing, and answered through the carrier’s API', async () => {
    const acknowledged = await arrives('When do you open?');
    expect(acknowledged.status).toBe(200);
    expect(acknowledged.text).toMatch(/<Response\s*\/>|<Response><\/Response>/);
    expect(api.dispatch.textTurns[0]?.job).toMatchObject({
      message: 'When do you open?',
      medium: 'sms',
      plan: { system_variables: { channel: 'sms', caller_number: PERSON, dialed_number: NUMBER } },
    });
    await answers('At eight.');
    expect(twilio.messages).toMatchObject([
      {
        from: NUMBER,
        to: PERSON,
        body: 'At eight.',
        status_callback: `${PUBLIC_URL}/carriers/message-status`,
      },
    ]);
    expect(await sessions()).toMatchObject([
      { medium: 'sms', caller_number: PERSON, dialed_number: NUMBER, message_count: 1 },
    ]);
  });

  it('that the carrier delivers twice is answered once', async () => {
    const form = { MessageSid: `SM${'f'.repeat(32)}` };
    await arrives('Hello?', form);
    await answers('Good day!');
    await arrives('Hello?', form);
    await idle();
    expect(api.dispatch.textTurns).toHaveLength(1);
    expect(sent()).toEqual(['Good day!']);
  });

  it('goes on with the conversation of the same person until it is idle', async () => {
    await arrives('My name is Ada');
    await answers('Hello Ada');
    await arrives('Who am I?');
    expect(api.dispatch.textTurns[1]?.job.items).toHaveLength(2);
    await answers('Ada');
    expect(await sessions()).toHaveLength(1);
    await arrives('Hello', { From: '+14155550112' });
    await answers('Hi');
    expect(await sessions()).toHaveLength(2);
  });

  it('after an idle time begins a session that knows the last one, within the number’s time', async () => {
    await arrives('My name is Ada');
    await answers('Hello Ada');
    await api.clock.advance(2 * 60 * 60_000);
    await idle();
    await arrives('And now?');
    expect(api.dispatch.textTurns[1]?.job.items).toMatchObject([
      { content: 'My name is Ada' },
      { content: 'Hello Ada' },
    ]);
    await answers('Yes?');
    await api.clock.advance(3 * 24 * 60 * 60_000);
    await idle();
    await arrives('Days later');
    expect(api.dispatch.textTurns[2]?.job.items).toEqual([]);
  });

  it('after a call knows what was said in it', async () => {
    const call = await request('POST', '/v1/agent/sessions', { agent_id: agentId });
    const callId: string = call.body.session_id;
    await api.context.models.sessions.updateOne({ _id: callId }, { $set: { caller_number: PERSON } });
    await api.report(callId, { type: 'joined', at: api.at() });
    const created_at = api.at();
    const item = {
      type: 'message' as const,
      role: 'user' as const,
      content: 'A table',
      turn_id: 1,
      created_at,
      id: 'm',
    };
    await api.report(callId, { type: 'items', items: [item] });
    await api.report(callId, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    await arrives('Is it booked?');
    expect(api.dispatch.textTurns[0]?.job.items).toMatchObject([{ content: 'A table' }]);
  });

  it('without the carrier’s signature, or with another one, is refused and does nothing', async () => {
    const form = { MessageSid: `SM${'1'.repeat(32)}`, From: PERSON, To: NUMBER, Body: 'Hi' };
    for (const headers of [{}, { 'x-twilio-signature': 'AAAA' }]) {
      const refused = await api.request('POST', '/carriers/message', {
        raw: new URLSearchParams(form).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      });
      expect(refused.status).toBe(403);
    }
    expect(await api.context.models.smsMessages.countDocuments({})).toBe(0);
  });

  it('that cannot be answered gets one apology, and the next one none until there was an answer', async () => {
    for (const [body, reply, error] of [
      ['Hello?', 'Sorry', 'The model failed'],
      ['Hello??', 'Sorry', 'The model failed'],
      ['Hello???', 'Good day!', null],
    ] as const) {
      await arrives(body);
      await answers(reply, { error });
    }
    expect(sent()).toEqual(['Sorry', 'Good day!']);
    const [turn] = await api.context.models.textTurns.find({}).sort({ number: 1 }).lean();
    expect(turn?.billing).toBe('returned');
  });

  it('stays without an answer beyond the day’s limit of its person: machines answer each other for ever', async () => {
    api.context.settings.LIMIT_SMS_PER_PERSON = 2;
    for (const body of ['One', 'Two', 'Three', 'HELP']) {
      await arrives(body);
      if (body !== 'HELP' && body !== 'Three') await answers(`${body}!`);
    }
    expect(sent()).toEqual(['One!', 'Two!']);
    await api.clock.advance(25 * 60 * 60_000);
    await idle();
    await arrives('Tomorrow');
    expect(api.dispatch.textTurns).toHaveLength(3);
  });

  it('to an agent that was deleted is dropped', async () => {
    await api.request('DELETE', `/v1/agent/agents/${agentId}`, { key: user.key });
    const number = await request('GET', `/v1/agent/phone-numbers/${numberId}`);
    expect(number.body).not.toHaveProperty('sms');
    await arrives('Hello?');
    expect(api.dispatch.textTurns).toEqual([]);
  });

  it('of a person without credit on the account stays without an answer, and costs nothing', async () => {
    const before = await api.balance(user.userId);
    await api.context.ledger.post({ userId: user.userId, key: 'x', kind: 'adjust', amountMicros: -before });
    await arrives('Hello?');
    expect(api.dispatch.textTurns).toEqual([]);
    expect(await api.context.models.smsMessages.findOne({}).lean()).toMatchObject({
      state: 'handled',
      note: 'Out of API credit',
      text: null,
    });
  });
});

describe('a call after text messages', () => {
  /** The plan of an inbound call from this number. */
  async function planOf(from: string) {
    const { planned } = await admitCall(api.context, {
      call_id: `call-${from}`,
      from_user: from,
      to_user: NUMBER,
      source_address: '127.0.0.1',
      source_port: 5060,
      transport: 'udp',
      headers: {},
    });
    await planned;
    return api.dispatch.plans.at(-1)?.plan;
  }

  it('is met by an agent that knows them, but no other caller’s, and not after the number’s time', async () => {
    await request('PATCH', `/v1/agent/phone-numbers/${numberId}`, { agent_id: agentId });
    await bind({ agent_id: agentId, continue_minutes: 60 });
    await arrives('My boiler is cold');
    await answers('Since when?');
    expect((await planOf(PERSON))?.earlier_texts).toBe('Person: My boiler is cold\nYou: Since when?');
    expect(await planOf('+14155550112')).not.toHaveProperty('earlier_texts');
    await api.clock.advance(61 * 60_000);
    expect(await planOf(PERSON)).not.toHaveProperty('earlier_texts');
  });

  it('names the conversation that it goes on with, and is found by the person’s number', async () => {
    await request('PATCH', `/v1/agent/phone-numbers/${numberId}`, { agent_id: agentId });
    await bind();
    await arrives('My boiler is cold');
    await answers('Since when?');
    const [{ text_session_id: written }] = await sessions();
    for (const from of ['+14155550112', PERSON]) await planOf(from);
    const calls = (await request('GET', '/v1/agent/sessions?status=pending')).body.sessions;
    const callOf = (number: string) =>
      calls.find(({ caller_number }: { caller_number: string }) => caller_number === number);
    expect(callOf(PERSON)).toHaveProperty('continued_from', written);
    expect(callOf('+14155550112')).not.toHaveProperty('continued_from');
    const theirs = (number: string) => request('GET', `/v1/agent/text-sessions?caller_number=${number}`);
    expect((await theirs(PERSON.slice(1))).body.text_sessions).toHaveLength(1);
    expect((await theirs('14155550112')).body.text_sessions).toEqual([]);
  });

  it('to a number without an agent for messages has the plan it always had', async () => {
    await request('PATCH', `/v1/agent/phone-numbers/${numberId}`, { agent_id: agentId });
    expect(await planOf(PERSON)).not.toHaveProperty('earlier_texts');
  });
});

describe('a keyword', () => {
  beforeEach(() => bind());

  it('STOP ends the conversation: after one confirmation nothing is sent until START', async () => {
    await arrives('Hello?');
    await arrives(' stop. ');
    await arrives('STOP');
    await answers('Good day!');
    expect(sent()).toEqual([expect.stringContaining('no more messages')]);
    await arrives('Are you there?');
    expect(api.dispatch.textTurns).toHaveLength(1);
    await arrives('START');
    await arrives('Hello again');
    await answers('Welcome back');
    expect(sent().slice(1)).toEqual([expect.stringContaining('again'), 'Welcome back']);
  });

  it('that the carrier has answered itself is obeyed without another answer', async () => {
    await arrives('STOP', { OptOutType: 'STOP' });
    await arrives('Hello?');
    expect(sent()).toEqual([]);
    expect(api.dispatch.textTurns).toEqual([]);
  });

  it('HELP names the agent, and is no message for it', async () => {
    await arrives('HELP');
    expect(sent()).toEqual([expect.stringContaining('Ada')]);
    expect(api.dispatch.textTurns).toEqual([]);
  });
});

describe('an answer on its way', () => {
  beforeEach(() => bind());

  it('whose sending was interrupted is sent once: it is looked for first', async () => {
    await arrives('Hello?');
    twilio.troubles['POST Messages'] = ['done-then-hang-up'];
    await answers('Good day!');
    expect(sent()).toEqual(['Good day!']);
    await api.clock.advance(62_000);
    await idle();
    expect(sent()).toEqual(['Good day!']);
    expect(await api.context.models.smsMessages.findOne({ direction: 'out' }).lean()).toMatchObject({
      state: 'sent',
      text: null,
    });
  });

  it('that was not sent is sent again', async () => {
    await arrives('Hello?');
    twilio.troubles['POST Messages'] = ['hang-up'];
    await answers('Good day!');
    expect(sent()).toEqual([]);
    await api.clock.advance(62_000);
    await idle();
    await api.clock.advance(5_000);
    await idle();
    expect(sent()).toEqual(['Good day!']);
  });

  it('is not lost while the carrier takes nothing for some minutes', async () => {
    await arrives('Hello?');
    twilio.troubles['POST Messages'] = Array.from({ length: 5 }, () => ({ status: 429 }));
    await answers('Good day!');
    expect(sent()).toEqual([]);
    for (let minute = 0; minute < 30; minute++) {
      await api.clock.advance(10_000);
      await idle();
    }
    expect(sent()).toEqual(['Good day!']);
  });

  it('has its fate from the carrier', async () => {
    await arrives('Hello?');
    await answers('Good day!');
    const MessageSid = String(twilio.messages[0]?.['sid']);
    const reported = { MessageSid, MessageStatus: 'undelivered', ErrorCode: '30003' };
    expect((await deliver('/carriers/message-status', reported)).status).toBe(204);
    expect(await api.context.models.smsMessages.findOne({ direction: 'out' }).lean()).toMatchObject({
      state: 'failed',
      note: 'Twilio error 30003',
    });
  });

  it('is deleted with everything else of an erased person, but their wish for no messages stays', async () => {
    await arrives('Hello?');
    await answers('Good day!');
    await arrives('STOP');
    const erased = await request('POST', '/v1/agent/erasures', { phone_number: PERSON });
    expect(erased.body.text_sessions).toBe(1);
    expect(await api.context.models.smsMessages.countDocuments({})).toBe(0);
    expect(JSON.stringify(await sessions())).not.toContain(PERSON);
    await arrives('Hello?');
    expect(api.dispatch.textTurns).toHaveLength(1);
  });
});
