import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const ORIGIN = 'https://shop.example.com';
const CENT = 10_000;

let api: TestCalls;
let user: TestUser;
const create = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  api.request('POST', '/v1/agent/sessions', { key: user.key, body, headers });
const createPublicly = (
  body: Record<string, unknown>,
  headers: Record<string, string> = { origin: ORIGIN },
) => api.request('POST', '/v1/agent/sessions', { body, headers });

/** One API for the tests of a group; each test has its own user and fresh clock minutes. */
function withApi(environment: Record<string, string> = {}): void {
  beforeAll(async () => {
    api = await openTestCalls(environment);
  });
  beforeEach(async () => {
    api.dispatch.reset();
    await api.clock.advance(60_000);
    user = await api.createUser();
  });
  afterAll(() => api.close());
}

describe('a session created with a key', () => {
  withApi();

  it('is charged for its first minute, placed and planned, and returns all a client needs', async () => {
    const agentId = await api.publishAgent(user, { prompt: { system_prompt: 'Help {{name}}.' } });
    const { status, body, headers } = await create({
      agent_id: agentId,
      dynamic_variables: { name: 'Mo', vip: true },
      metadata: { order: 7 },
      end_user_id: 'u-1',
      timezone: 'Asia/Tokyo',
      overrides: null,
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      session_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      expires_at: api.at(60_000),
      max_duration_seconds: 1800,
      transport: 'webrtc',
      webrtc_url: `http://127.0.0.1:8080/v1/agent/sessions/${body.session_id}/webrtc`,
      token: expect.any(String),
      ice_servers: [],
    });
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(await api.balance(user.userId)).toBe(994 * CENT);
    expect(api.dispatch.offers).toEqual([
      { sessionId: body.session_id, epoch: 1, kind: 'web', sipCallId: null },
    ]);
    const plan = api.dispatch.plans[0]?.plan;
    expect(plan).toMatchObject({
      session_id: body.session_id,
      channel: 'web_voice',
      variables: { name: 'Mo', vip: true },
      system_variables: {
        timezone: 'Asia/Tokyo',
        today: '2026-01-01',
        channel: 'web_voice',
        caller_number: '',
      },
      end_user_id: 'u-1',
      is_preview: false,
      transport: { type: 'webrtc' },
    });
    const detail = await api.request('GET', `/v1/agent/sessions/${body.session_id}`, { key: user.key });
    expect(detail.body).toMatchObject({
      status: 'pending',
      source: 'api_key',
      direction: 'inbound',
      metadata: { order: 7 },
      caller_number: null,
      items: [],
      analysis: null,
    });
    expect(detail.body).not.toHaveProperty('end_user_id');
  });

  it('puts overrides into the plan if the agent allows them', async () => {
    const agentId = await api.publishAgent(
      user,
      {},
      { overrides_allowed: ['first_message', 'system_prompt', 'voice_id', 'language'] },
    );
    await create({
      agent_id: agentId,
      overrides: { first_message: 'Hej', system_prompt: 'Be brief.', language: 'sv' },
    });
    expect(api.dispatch.plans[0]?.plan).toMatchObject({
      first_message_override: 'Hej',
      config: {
        prompt: { system_prompt: 'Be brief.', first_message: 'Hej', first_message_mode: 'fixed' },
        voice: { speaking_language: 'sv' },
      },
      system_variables: { language: 'sv' },
    });
  });

  it('is a 400 if it overrides something the agent does not allow', async () => {
    const agentId = await api.publishAgent(user);
    const refused = await create({ agent_id: agentId, overrides: { voice_id: 'x' } });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      'Override not allowed for this agent: voice_id',
    ]);
  });

  it.each([
    [{ overrides: { first_message: 'a', first_message_prompt: 'b' } }],
    [{ overrides: { system_prompt: 'word '.repeat(5_000) } }],
    [{ overrides: { first_message: '{{system.now}}' } }],
    [{ overrides: { language: 'xx' } }],
    [{ timezone: 'Mars/Olympus' }],
    [{ dynamic_variables: { '1st': 'x' } }],
    [{ dynamic_variables: { a: null } }],
    [{ dynamic_variables: { a: 'x'.repeat(100_001) } }],
    [{ dynamic_variables: Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`v${index}`, 1])) }],
    [{ metadata: { big: 'x'.repeat(17_000) } }],
    [{ name: 'x'.repeat(129) }],
    [{ surprise: 1 }],
  ])('is a 422 for %o', async (extra) => {
    const agentId = await api.publishAgent(
      user,
      {},
      { overrides_allowed: ['first_message', 'system_prompt', 'language'] },
    );
    const { status, body, text } = await create({ agent_id: agentId, ...extra });
    expect([status, Array.isArray(body), body?.[0]?.loc?.[0]]).toEqual([422, true, 'body']);
    expect(text).not.toContain('xxxx');
  });

  it('is a 422 if a required variable with on_missing reject has no value', async () => {
    const agentId = await api.publishAgent(user, {
      prompt: { system_prompt: 'Help {{name}} at {{system.today}}.' },
      variables: { on_missing: 'reject' },
    });
    expect((await create({ agent_id: agentId })).status).toBe(422);
    expect((await create({ agent_id: agentId, dynamic_variables: { name: 'Mo' } })).status).toBe(201);
    expect(await api.balance(user.userId)).toBe(994 * CENT);
  });

  it('treats another team’s agent as missing', async () => {
    const otherUser = await api.createUser();
    const agentId = await api.publishAgent(otherUser);
    const foreign = await create({ agent_id: agentId });
    const missing = await create({ agent_id: 'nothing' });
    expect([foreign.status, foreign.text]).toEqual([404, missing.text]);
  });

  it('is a 409 for an unpublished agent', async () => {
    const { body: agent } = await api.request('POST', '/v1/agent/agents', {
      key: user.key,
      body: { name: 'Draft' },
    });
    const refused = await create({ agent_id: agent.agent_id });
    expect([refused.status, refused.body.message]).toEqual([409, 'Agent has no published version']);
  });

  it('is a bare 401 for a malformed Authorization, a 400 for invalid JSON and a bare 415 for no body', async () => {
    const malformed = await api.request('POST', '/v1/agent/sessions', {
      headers: { authorization: 'Basic x' },
      body: {},
    });
    expect([malformed.status, malformed.text, malformed.headers['www-authenticate']]).toEqual([
      401,
      '',
      'Bearer',
    ]);
    expect((await api.request('POST', '/v1/agent/sessions', { key: user.key, raw: '{' })).status).toBe(400);
    const bare = await api.request('POST', '/v1/agent/sessions', { key: user.key });
    expect([bare.status, bare.text]).toEqual([415, '']);
  });

  it('is a 403 for an account without beta access, before any other check', async () => {
    const outsider = await api.createUser({ beta_access: false });
    const refused = await api.request('POST', '/v1/agent/sessions', { key: outsider.key, raw: '{' });
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining('private beta')]);
  });

  it('is a 503 without a free worker and a 502 without a reachable one, and returns the charge', async () => {
    const agentId = await api.publishAgent(user);
    api.dispatch.room = 0;
    expect((await create({ agent_id: agentId })).status).toBe(503);
    api.dispatch.room = 9;
    api.dispatch.unreachable = 'gateway_unreachable';
    const unreachable = await create({ agent_id: agentId });
    expect([unreachable.status, unreachable.body.message]).toEqual([502, 'Agent gateway is unreachable']);
    expect(await api.balance(user.userId)).toBe(1_000 * CENT);
    const { body } = await api.request('GET', '/v1/agent/sessions?status=pending,failed', { key: user.key });
    expect(body.sessions).toEqual([]);
  });
});

describe('the credit of an account', () => {
  withApi();

  /** Creates a new user with this credit. */
  async function withCredit(amount: string): Promise<void> {
    user = await api.createUser({ credit: amount });
  }

  it('must cover a session’s first minute; otherwise the answer is a 402 and leaves no record', async () => {
    await withCredit('0.10');
    const agentId = await api.publishAgent(user);
    expect((await create({ agent_id: agentId })).status).toBe(201);
    const refused = await create({ agent_id: agentId });
    expect([refused.status, refused.body.message]).toEqual([402, 'Out of API credit']);
    expect(await api.balance(user.userId)).toBe(4 * CENT);
    expect(await api.context.models.sessions.countDocuments({ user_id: user.userId })).toBe(1);
  });

  it('that covers fifty sessions passes exactly fifty of a hundred concurrent ones', async () => {
    await withCredit('3.00');
    const agentId = await api.publishAgent(user);
    const answers = await Promise.all(Array.from({ length: 100 }, () => create({ agent_id: agentId })));
    const statuses = answers.map((answer) => answer.status);
    expect([
      statuses.filter((status) => status === 201).length,
      statuses.filter((status) => status === 402).length,
    ]).toEqual([50, 50]);
    expect(await api.balance(user.userId)).toBe(0);
  });
});

describe('an account with prices of 0', () => {
  withApi({ STARTING_CREDIT: '0', PRICE_CALL_PER_MINUTE: '0', PRICE_PHONE_PER_MINUTE: '0' });

  it('creates sessions without any credit', async () => {
    const agentId = await api.publishAgent(user);
    expect((await create({ agent_id: agentId })).status).toBe(201);
    expect(await api.balance(user.userId)).toBe(0);
  });
});

describe('a session created by a public page', () => {
  const PUBLIC = {
    public_enabled: true,
    allowed_origins: [`${ORIGIN}/`],
    overrides_allowed: ['language', 'first_message'],
  };
  withApi({ PUBLIC_RATE_PER_AGENT: '3', PUBLIC_RATE_PER_IP: '2' });

  it('needs no key for a public agent and an allowed origin; the owner pays', async () => {
    const agentId = await api.publishAgent(user, {}, PUBLIC);
    const { status, body } = await createPublicly(
      { agent_id: agentId, overrides: { language: 'de' } },
      { origin: 'https://SHOP.example.com' },
    );
    expect(status).toBe(201);
    expect(await api.balance(user.userId)).toBe(994 * CENT);
    const detail = await api.request('GET', `/v1/agent/sessions/${body.session_id}`, { key: user.key });
    expect(detail.body.source).toBe('public');
  });

  it('is rejected in the documented order, and a page can read every refusal', async () => {
    const closed = await api.publishAgent(user);
    const open = await api.publishAgent(user, {}, PUBLIC);
    const answers = [
      await api.request('POST', '/v1/agent/sessions', {
        raw: 'x',
        headers: { 'content-type': 'text/plain', origin: ORIGIN },
      }),
      await api.request('POST', '/v1/agent/sessions', { raw: '{', headers: { origin: ORIGIN } }),
      await createPublicly({ agent_id: open, surprise: 1 }),
      await createPublicly({ agent_id: 'nothing' }),
      await createPublicly({ agent_id: closed }),
      await createPublicly({ agent_id: open }, {}),
      await createPublicly({ agent_id: open }, { origin: 'https://evil.example.com' }),
      await createPublicly({ agent_id: open, name: 'x' }),
      await createPublicly({ agent_id: open, overrides: { first_message: 'x' } }),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([415, 400, 422, 404, 403, 403, 403, 400, 400]);
    expect(answers.slice(4, 7).map((answer) => answer.body.message)).toEqual([
      'Agent is not public',
      'Origin header is required for public agents',
      'Origin not allowed',
    ]);
    expect(new Set(answers.map((answer) => answer.headers['access-control-allow-origin']))).toEqual(
      new Set(['*']),
    );
    expect(answers.some((answer) => 'access-control-allow-credentials' in answer.headers)).toBe(false);
  });

  it('is limited per client and agent in clock minutes, counting attempts from allowed origins', async () => {
    const agentId = await api.publishAgent(user, {}, PUBLIC);
    const statuses = [
      (await createPublicly({ agent_id: agentId })).status,
      (await createPublicly({ agent_id: agentId })).status,
    ];
    const refused = await createPublicly({ agent_id: agentId });
    expect([...statuses, refused.status]).toEqual([201, 201, 429]);
    expect(refused.body.message).toBe(`Too many requests; try again in ${refused.headers['retry-after']} s`);
    await api.clock.advance(60_000);
    expect((await createPublicly({ agent_id: agentId })).status).toBe(201);
  });

  it('is "Agent is unavailable" when the owner is out of credit', async () => {
    const agentId = await api.publishAgent(user, {}, PUBLIC);
    await api.context.ledger.post({
      userId: user.userId,
      key: 'spent',
      kind: 'adjust',
      amountMicros: -1_000 * CENT,
    });
    const refused = await createPublicly({ agent_id: agentId });
    expect([refused.status, refused.body.message]).toEqual([403, 'Agent is unavailable']);
  });

  it('answers the preflight without a key', async () => {
    const preflight = await api.request('OPTIONS', '/v1/agent/sessions', {
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });
    expect([
      preflight.status,
      preflight.headers['access-control-allow-origin'],
      preflight.headers['access-control-allow-methods'],
    ]).toEqual([204, '*', 'POST']);
  });
});

describe('a client that connects to a session', () => {
  withApi();

  it('sends its offer with the token to the session’s worker, also to reconnect, but never after the end', async () => {
    const { body } = await create({ agent_id: await api.publishAgent(user) });
    const url = new URL(body.webrtc_url).pathname;
    const offer = (token: string, sdp: string) =>
      api.request('POST', url, {
        headers: { authorization: `Bearer ${token}`, origin: ORIGIN },
        body: { sdp, type: 'offer' },
      });
    const first = await offer(body.token, 'one');
    expect([first.status, first.body, first.headers['access-control-allow-origin']]).toEqual([
      200,
      { sdp: 'answer to one', type: 'answer' },
      '*',
    ]);
    expect((await offer(body.token, 'two')).status).toBe(200);
    const wrong = await offer('x'.repeat(43), 'three');
    expect([wrong.status, wrong.body.message, wrong.headers['access-control-allow-origin']]).toEqual([
      401,
      'Invalid token',
      '*',
    ]);
    expect((await api.request('POST', url, { body: { sdp: 'x', type: 'offer' } })).status).toBe(401);
    expect(
      (
        await api.request('POST', url.replace(body.session_id, 'unknown'), {
          headers: { authorization: `Bearer ${body.token}` },
          body: { sdp: 'x', type: 'offer' },
        })
      ).status,
    ).toBe(401);
    await api.report(body.session_id, { type: 'joined', at: api.at() });
    await api.report(body.session_id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });
    expect((await offer(body.token, 'four')).status).toBe(409);
    expect(api.dispatch.sdpOffers).toEqual(['one', 'two']);
  });

  it('needs a token, which expires with the join deadline', async () => {
    const { body } = await create({ agent_id: await api.publishAgent(user) });
    await api.clock.advance(60_000);
    const late = await api.request('POST', new URL(body.webrtc_url).pathname, {
      headers: { authorization: `Bearer ${body.token}` },
      body: { sdp: 'x', type: 'offer' },
    });
    expect(late.status).toBe(409);
  });
});
