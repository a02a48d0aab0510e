/**
 * Callers of an imported number that prove a password (RFC 3261 §22, RFC 7616, RFC 8760), through the
 * requests of signalling.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const NUMBER = '+4930123456';
const URI = `sip:${NUMBER}@203.0.113.1`;
const PASSWORDS = { inbound_auth_username: 'pbx', inbound_auth_password: 'swordfish' };

let api: TestCalls;
let user: TestUser;

beforeAll(async () => {
  api = await openTestCalls();
});
afterAll(() => api.close());
// Each test has its own account, which alone has the number.
beforeEach(async () => {
  user = await api.createUser();
  await importNumber(NUMBER);
});
afterEach(deleteNumbers);

async function deleteNumbers(): Promise<void> {
  const { key } = user;
  const { body } = await api.request('GET', '/v1/agent/phone-numbers', { key });
  for (const { phone_number_id: id } of body.phone_numbers) {
    const { status, text } = await api.request('DELETE', `/v1/agent/phone-numbers/${id}`, { key });
    if (status !== 204) throw new Error(text);
  }
}

async function importNumber(phoneNumber: string, factors: Record<string, unknown> = {}): Promise<void> {
  const body = {
    provider: 'sip',
    phone_number: phoneNumber,
    agent_id: await api.publishAgent(user),
    ...PASSWORDS,
    ...factors,
  };
  const { status, text } = await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body });
  if (status !== 201) throw new Error(text);
}

/** The result of an INVITE with this answer to a challenge: a status, or `route`. */
async function invite(
  answer: string | null,
  over: { readonly to?: string; readonly uri?: string; readonly source?: string } = {},
) {
  const { answer: given, planned } = await admitCall(api.context, {
    call_id: `${Math.random()}@203.0.113.9`,
    from_user: '+8190123456',
    to_user: over.to ?? NUMBER,
    request_uri: over.uri ?? URI,
    source_address: over.source ?? '203.0.113.9',
    source_port: 5060,
    transport: 'udp',
    headers: answer === null ? {} : { 'proxy-authorization': answer },
  });
  await planned;
  const challenges =
    given.action === 'reject' ? [given.data.headers?.['Proxy-Authenticate'] ?? []].flat() : [];
  return { status: given.action === 'reject' ? given.data.status : 'route', challenges };
}

async function nonceFor(to = NUMBER): Promise<string> {
  return nonceOf((await invite(null, { to })).challenges);
}

function nonceOf([challenge = '']: readonly string[]): string {
  return /nonce="([^"]+)"/.exec(challenge)?.[1] ?? '';
}

interface Answer {
  readonly nonce: string;
  readonly password?: string;
  readonly nc?: string;
  readonly cnonce?: string;
  readonly algorithm?: 'MD5' | 'SHA-256';
  readonly uri?: string;
}

function answerTo({
  nonce,
  password = 'swordfish',
  nc = '00000001',
  cnonce = 'abc',
  algorithm = 'MD5',
  uri = URI,
}: Answer): string {
  const hash = (text: string) =>
    createHash(algorithm === 'MD5' ? 'md5' : 'sha256')
      .update(text)
      .digest('hex');
  const response = hash(
    `${hash(`pbx:parley:${password}`)}:${nonce}:${nc}:${cnonce}:auth:${hash(`INVITE:${uri}`)}`,
  );
  return (
    `Digest username="pbx", realm="parley", nonce="${nonce}", uri="${uri}", response="${response}", ` +
    `algorithm=${algorithm}, cnonce="${cnonce}", qop=auth, nc=${nc}`
  );
}

describe('the challenge of a number with a password', () => {
  it('security 22: offers MD5 and SHA-256, one header each, with one nonce', async () => {
    const { status, challenges } = await invite(null);
    const nonce = nonceOf(challenges);
    expect(status).toBe(407);
    expect(challenges).toEqual(
      ['MD5', 'SHA-256'].map(
        (name) => `Digest realm="parley", nonce="${nonce}", algorithm=${name}, qop="auth"`,
      ),
    );
  });

  it('is one that signalling of the last release reads, if that asks', async () => {
    const folder = join(import.meta.dirname, '../../../protocol/last-release');
    const read = (name: string) => JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
    const ask = async (more: object) => {
      const [question] = read('admission-requests');
      const headers = { authorization: `Bearer ${api.context.credentials.workerToken}` };
      const body = { ...question, to_user: NUMBER, ...more };
      return (await api.request('POST', '/internal/sip/admit', { headers, body })).body;
    };
    const isReadable = (answer: unknown) =>
      z.fromJSONSchema(read('admission-answer.schema')).safeParse(answer).success;
    const old = await ask({});
    expect(old).toMatchObject({ action: 'reject', data: { status: 407 } });
    expect(old.data.headers['Proxy-Authenticate']).toContain('algorithm=MD5');
    expect([isReadable(old), isReadable(await ask({ worker_tags: [] }))]).toEqual([true, false]);
  });

  it.each(['MD5', 'SHA-256'] as const)('security 22: accepts an answer with %s', async (algorithm) => {
    expect((await invite(answerTo({ nonce: await nonceFor(), algorithm }))).status).toBe('route');
    expect((await invite(answerTo({ nonce: await nonceFor(), algorithm, password: 'wrong' }))).status).toBe(
      407,
    );
  });

  it('security 22: offers and accepts only the algorithms of SIP_DIGEST', async () => {
    await deleteNumbers();
    const shared = api;
    api = await openTestCalls({ SIP_DIGEST: 'SHA-256' });
    onTestFinished(async () => {
      await api.close();
      api = shared;
    });
    user = await api.createUser();
    await importNumber(NUMBER);
    expect((await invite(null)).challenges).toHaveLength(1);
    expect((await invite(answerTo({ nonce: await nonceFor() }))).status).toBe(407);
    expect((await invite(answerTo({ nonce: await nonceFor(), algorithm: 'SHA-256' }))).status).toBe('route');
  });

  it('follows the check of the source', async () => {
    await importNumber('+4930555555', { inbound_allowed_addresses: ['198.51.100.7'] });
    expect((await invite(null, { to: '+4930555555' })).status).toBe(403);
    expect((await invite(null, { to: '+4930555555', source: '198.51.100.7' })).status).toBe(407);
  });
});

describe('a correct password', () => {
  it('security 7: is accepted from callers challenged at once, whatever counts the others used', async () => {
    const nonces = await Promise.all(Array.from({ length: 10 }, () => nonceFor()));
    expect(new Set(nonces).size).toBe(10);
    for (const nonce of nonces) expect((await invite(answerTo({ nonce }))).status).toBe('route');
  });

  it('security 7: is accepted although a caller of another number used the same nonce and count', async () => {
    await importNumber('+4930555555');
    const nonce = await nonceFor();
    expect((await invite(answerTo({ nonce }), { to: '+4930555555' })).status).toBe(407);
    expect((await invite(answerTo({ nonce }))).status).toBe('route');
  });

  it('security 7: passes once; a repeated answer is challenged as stale, also a minute later', async () => {
    // Just before a multiple of two minutes, where time windows begin.
    await api.clock.advance(120_000 - (api.clock.wallTime() % 120_000) - 500);
    const answer = answerTo({ nonce: await nonceFor() });
    expect((await invite(answer)).status).toBe('route');
    await api.clock.advance(1_000);
    const again = await invite(answer);
    expect(again.status).toBe(407);
    expect(again.challenges).toHaveLength(2);
    for (const challenge of again.challenges) expect(challenge).toMatch(/, stale=true$/);
    expect((await invite(answerTo({ nonce: nonceOf(again.challenges) }))).status).toBe('route');
  });

  it('security 7: sent twice at once passes exactly once', async () => {
    const answer = answerTo({ nonce: await nonceFor() });
    const statuses = (await Promise.all([invite(answer), invite(answer), invite(answer)])).map(
      ({ status }) => status,
    );
    expect(statuses.filter((status) => status === 'route')).toHaveLength(1);
  });

  it('security 7: may reuse its nonce with the next count', async () => {
    const nonce = await nonceFor();
    expect((await invite(answerTo({ nonce }))).status).toBe('route');
    expect((await invite(answerTo({ nonce, nc: '00000002' }))).status).toBe('route');
  });

  it.each([
    ['that is too old', 61_000, (nonce: string) => nonce],
    ['that is not ours', 0, (nonce: string) => nonce.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
  ])(
    'security 7: is challenged anew as stale, and not counted as a refusal, with a nonce %s',
    async (_, laterMs, spoil) => {
      const nonce = spoil(await nonceFor());
      await api.clock.advance(laterMs);
      const { status, challenges } = await invite(answerTo({ nonce }));
      expect([status, challenges[0]]).toEqual([407, expect.stringMatching(/, stale=true$/)]);
      expect(await refusals()).toBe(0);
      expect((await invite(answerTo({ nonce: nonceOf(challenges) }))).status).toBe('route');
    },
  );
});

describe('a wrong answer', () => {
  it('security 7: is challenged without stale and listed among the refused calls', async () => {
    for (const answer of [
      answerTo({ nonce: await nonceFor(), password: 'wrong' }),
      'Basic nonsense',
      'Digest ',
      `Digest ${'a'.repeat(2_000)}`,
    ]) {
      const { status, challenges } = await invite(answer);
      expect(status).toBe(407);
      expect(challenges.join()).not.toContain('stale');
    }
    await expect.poll(refusals).toBe(4);
  });

  it.each([
    ['another number', `sip:+4930999999@203.0.113.1`],
    ['another server alone', 'sip:203.0.113.2'],
    ['nothing at all', ''],
  ])('security 22: can be an answer made for %s', async (_, uri) => {
    expect((await invite(answerTo({ nonce: await nonceFor(), uri }))).status).toBe(407);
  });

  it.each([
    ['the host that a proxy on the way put another one for', `sip:${NUMBER}@sip.example:5070`],
    ['its default port', `sip:${NUMBER}@203.0.113.1:5060`],
    ['parameters', `sip:${NUMBER}@203.0.113.1;transport=udp`],
    ['an escaped user', 'sip:%2B4930123456@203.0.113.1'],
    ['no plus', 'sip:4930123456@203.0.113.1'],
    ['the server alone, as sipp does', 'sip:203.0.113.1:5060'],
  ])('security 22: cannot be an answer made for the same number written with %s', async (_, uri) => {
    expect((await invite(answerTo({ nonce: await nonceFor(), uri }))).status).toBe('route');
  });
});

function refusals(): Promise<number> {
  return api.context.models.refusals.countDocuments({ team_id: user.teamId });
}
