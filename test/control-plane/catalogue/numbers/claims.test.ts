/**
 * One number claimed by several teams: an unproven claim blocks no other team and gives access to no other
 * team's calls.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const NUMBER = '+4930123456';
const [STRANGERS, OWNERS, CARRIERS] = ['198.51.100.1', '198.51.100.2', '198.51.100.3'];

let api: TestCalls;
let otherUser: TestUser;
let owner: TestUser;

beforeAll(async () => {
  api = await openTestCalls({ SIP_TRUNK_URI: 'trunk.example.com', OUTBOUND_COUNTRIES: 'DE' });
});
beforeEach(async () => {
  await api.context.models.numbers.deleteMany({});
  api.dispatch.reset();
  [otherUser, owner] = [await api.createUser(), await api.createUser()];
});
afterAll(() => api.close());

async function importNumber(
  user: TestUser,
  factors: object,
  phone_number = NUMBER,
): Promise<{ status: number; id: string; agentId: string }> {
  const agentId = await api.publishAgent(user);
  // The clock decides which import was first.
  await api.clock.advance(1);
  const body = { provider: 'sip', phone_number, agent_id: agentId, ...factors };
  const answer = await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body });
  return { status: answer.status, id: answer.body.phone_number_id, agentId };
}

const from = (...inbound_allowed_addresses: string[]) => ({ inbound_allowed_addresses });
const password = (inbound_auth_password: string) => ({ inbound_auth_username: 'pbx', inbound_auth_password });

/** The operator confirms that the number belongs to its holder. */
const prove = async (id: string, key = api.rootKey) =>
  (await api.request('PUT', `/admin/numbers/${id}/proof`, { key, body: { is_proven: true } })).status;

/** The agent a call rings, or the status that refuses it; a challenge is answered with `secret`. */
async function call(source: string, secret?: string): Promise<string | number> {
  const ask = async (headers: Record<string, string>) => {
    const { answer, planned } = await admitCall(api.context, {
      call_id: `${Math.random()}@host`,
      from_user: '+8190123456',
      to_user: NUMBER,
      request_uri: `sip:${NUMBER}@host.example`,
      source_address: source,
      source_port: 5060,
      transport: 'udp',
      headers,
    });
    await planned;
    return answer;
  };
  let answer = await ask({});
  if (answer.action === 'reject' && answer.data.status === 407 && secret !== undefined) {
    const nonce =
      /nonce="([^"]+)"/.exec([answer.data.headers?.['Proxy-Authenticate'] ?? ''].flat()[0] ?? '')?.[1] ?? '';
    answer = await ask({ 'proxy-authorization': digest(nonce, secret) });
  }
  if (answer.action === 'reject') return answer.data.status;
  const session = await api.context.models.sessions.findById(api.dispatch.offers.at(-1)?.sessionId).lean();
  return session?.agent_id ?? '';
}

function digest(nonce: string, secret: string): string {
  const md5 = (text: string) => createHash('md5').update(text).digest('hex');
  const uri = `sip:${NUMBER}@host.example`;
  const response = md5(`${md5(`pbx:parley:${secret}`)}:${nonce}:00000001:abc:auth:${md5(`INVITE:${uri}`)}`);
  return (
    `Digest username="pbx", realm="parley", nonce="${nonce}", uri="${uri}", response="${response}", ` +
    'cnonce="abc", qop=auth, nc=00000001'
  );
}

const refusals = (user: TestUser) => api.context.models.refusals.countDocuments({ team_id: user.teamId });

describe('an unproven import', () => {
  it('security 13: does not keep other teams from importing the number', async () => {
    expect((await importNumber(otherUser, from(STRANGERS))).status).toBe(201);
    expect((await importNumber(owner, from(OWNERS))).status).toBe(201);
    // A team can import a number once.
    expect((await importNumber(owner, from(OWNERS))).status).toBe(409);
  });

  it('security 13: blocks calls and transfers to the number for its own team only', async () => {
    await importNumber(otherUser, from(STRANGERS));
    const placeCall = async (user: TestUser) => {
      const agent_id = await api.publishAgent(user);
      const imported = { ...from(OWNERS), termination_uri: 'pbx.example.com' };
      const { id } = await importNumber(user, imported, user === owner ? '+4930999001' : '+4930999002');
      const body = { agent_id, phone_number_id: id, to_number: NUMBER };
      return api.request('POST', '/v1/agent/phone-calls', { key: user.key, body });
    };
    expect((await placeCall(owner)).status).toBe(201);
    const own = await placeCall(otherUser);
    expect([own.status, own.body.reason]).toEqual([422, 'self_call_blocked']);
  });

  it('security 13: receives no calls of another team that imported the same number', async () => {
    const theirs = await importNumber(otherUser, from(STRANGERS));
    const ours = await importNumber(owner, from(OWNERS));
    expect([await call(OWNERS), await call(STRANGERS), await call(CARRIERS)]).toEqual([
      ours.agentId,
      theirs.agentId,
      403,
    ]);
    // A refused caller is shown to neither team, because the call may have been meant for the other.
    expect([await refusals(otherUser), await refusals(owner)]).toEqual([0, 0]);
  });

  it('security 13: receives no call that proves another team’s password', async () => {
    const theirs = await importNumber(otherUser, password('other-user'));
    const ours = await importNumber(owner, password('owner'));
    expect([
      await call(CARRIERS, 'owner'),
      await call(CARRIERS, 'other-user'),
      await call(CARRIERS, 'nobody'),
    ]).toEqual([ours.agentId, theirs.agentId, 407]);
  });

  it('security 13: does not block callers from another team’s list if it has a password and no list', async () => {
    await importNumber(otherUser, password('other-user'));
    const ours = await importNumber(owner, from(OWNERS));
    expect(await call(OWNERS)).toBe(ours.agentId);
  });
});

describe('a proven number', () => {
  it('security 13: gets all its calls, and other teams can neither import nor call it', async () => {
    const theirs = await importNumber(otherUser, from(CARRIERS));
    const ours = await importNumber(owner, from(CARRIERS));
    expect(await call(CARRIERS)).toBe(theirs.agentId);
    expect([await prove(ours.id, owner.key), await prove(ours.id)]).toEqual([403, 200]);
    expect(await call(CARRIERS)).toBe(ours.agentId);
    expect((await importNumber(await api.createUser(), from(STRANGERS))).status).toBe(409);
    expect(await prove(theirs.id)).toBe(409);
  });

  it('security 13: includes every bought number, whatever other teams claim', async () => {
    const bought = '+15550100001';
    expect((await importNumber(otherUser, from(STRANGERS), bought)).status).toBe(201);
    const buy = { provider: 'managed', phone_number: bought };
    expect((await api.request('POST', '/v1/agent/phone-numbers', { key: owner.key, body: buy })).status).toBe(
      201,
    );
    expect((await importNumber(await api.createUser(), from(STRANGERS), bought)).status).toBe(409);
  });
});
