import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import type { ShareArm } from '#control-plane/platform/store/models/session-share.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber } from '../../test-numbers.ts';
import { SharedAgent } from './shared-agent.ts';

const ARMS: readonly ShareArm[] = ['share', 'published'];
const ORIGIN = 'https://www.example.com';

let api: TestCalls;
let agent: SharedAgent;

beforeAll(async () => {
  api = await openTestCalls({
    STARTING_CREDIT: '1000.00',
    SIP_TRUSTED: '203.0.113.0/24',
    SIP_TRUNK_URI: 'trunk.example.com:5080',
  });
});
afterAll(() => api.close());
beforeEach(async () => {
  api.dispatch.reset();
  agent = await SharedAgent.open(api);
  await agent.request('PATCH', agent.path, { public_enabled: true, allowed_origins: [ORIGIN] });
  await agent.set({ share: 0.5 });
});

const shareIn = (arm: ShareArm, share_id: string) => ({
  share_id,
  arm,
  version_number: arm === 'share' ? 2 : 1,
});

/** A number of North America that belongs to this arm. */
async function numberIn(arm: ShareArm): Promise<string> {
  for (let line = 1_000; ; line++) {
    const number = `+1415555${line}`;
    if ((await agent.armOf(number)) === arm) return number;
  }
}

async function phoneNumber(): Promise<{ id: string; number: string }> {
  const id = await insertNumber(api, agent.user, { agent_id: agent.id });
  const { phone_number } = (await api.context.models.numbers.findById(id).lean()) ?? { phone_number: '' };
  return { id, number: phone_number };
}

async function dialIn(from: string): Promise<string> {
  const { number } = await phoneNumber();
  const { answer, planned } = await admitCall(api.context, {
    call_id: `call-${from}`,
    from_user: from,
    to_user: number,
    source_address: '203.0.113.9',
    source_port: 5060,
    transport: 'udp',
    headers: {},
  });
  await planned;
  expect(answer.action).toBe('route');
  return api.dispatch.offers.at(-1)?.sessionId ?? '';
}

/** Each begins a call of a caller who belongs to an arm, and returns the id of its session. */
const ENTRANCES = {
  'a web call with a key': async (arm: ShareArm) => agent.begin(await agent.personIn(arm)),
  'a web call from a public page': async (arm: ShareArm) => {
    const { body } = await api.request('POST', '/v1/agent/sessions', {
      headers: { origin: ORIGIN },
      body: { agent_id: agent.id, end_user_id: await agent.personIn(arm) },
    });
    return body.session_id;
  },
  'an inbound phone call': async (arm: ShareArm) => dialIn(await numberIn(arm)),
  'an outbound phone call': async (arm: ShareArm) => {
    const { id } = await phoneNumber();
    const { body } = await agent.request('POST', '/v1/agent/phone-calls', {
      agent_id: agent.id,
      phone_number_id: id,
      to_number: await numberIn(arm),
    });
    return body.session_id;
  },
} as const;

describe.each(Object.entries(ENTRANCES))('%s', (_name, begin) => {
  it.each(ARMS)('gets the version of its caller (%s), and its session says so', async (arm) => {
    const { share_id } = await agent.stored();
    const session = await agent.session(await begin(arm));
    expect(session.share).toEqual(shareIn(arm, share_id));
    const prompt = arm === 'share' ? 'You are brief.' : '';
    const { plan } = api.dispatch.plans.at(-1) ?? {};
    expect(plan?.config.prompt.system_prompt).toBe(prompt);
  });
});

describe('a text session', () => {
  it.each(ARMS)('gets the version of its person (%s), and says so', async (arm) => {
    const { share_id } = await agent.stored();
    const { body } = await agent.request('POST', '/v1/agent/text-sessions', {
      agent_id: agent.id,
      end_user_id: await agent.personIn(arm),
    });
    expect(body.share).toEqual(shareIn(arm, share_id));
  });
});

describe('a caller', () => {
  it('gets the same version at every call', async () => {
    const person = await agent.personIn('share');
    for (let call = 0; call < 3; call++)
      expect((await agent.session(await agent.begin(person))).share.arm).toBe('share');
  });

  it.each(['anonymous', 'Restricted'])('who calls as %s is not one person with all others', async (from) => {
    const arms = new Set<string>();
    for (let call = 0; call < 24; call++) arms.add((await agent.session(await dialIn(from))).share.arm);
    expect([...arms].sort()).toEqual(['published', 'share']);
  });
});

describe('sessions that no share decides', () => {
  it('have no field for it: previews of the draft, and calls after its end', async () => {
    const preview = await agent.request('POST', `${agent.path}/preview-sessions`);
    const path = `${agent.path}/preview-sessions/${preview.body.session_id}`;
    expect((await agent.request('GET', path)).body).not.toHaveProperty('share');
    await agent.request('DELETE', `${agent.path}/share`);
    expect(await agent.session(await agent.begin('a person'))).not.toHaveProperty('share');
  });
});
