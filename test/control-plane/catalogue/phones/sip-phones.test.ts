/** Phones of an account: their credentials, their limits and guards, and their registrations. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { placesOf } from '#control-plane/catalogue/phones/phone-places.ts';
import { Refusals } from '#control-plane/platform/limits/refusals.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { Device, HOME, type MadePhone, makePhone, PHONES } from './phone-bench.ts';

let api: TestCalls;
let user: TestUser;
let phone: MadePhone;
let device: Device;

beforeAll(async () => {
  api = await openTestCalls({ LIMIT_SIP_PHONES: '3' });
});
afterAll(() => api.close());
beforeEach(async () => {
  user = await api.createUser({ credit: '5.00' });
  phone = await makePhone(api, user, '204', { display_name: 'Front desk' });
  device = new Device(api, phone);
  // Guesses are counted by the minute, and by place.
  await api.clock.advance(60_000);
});

const read = async () =>
  (await api.request('GET', `${PHONES}/${phone.sip_phone_id}`, { key: user.key })).body;
const fieldOf = (answer: { headers: readonly { name: string; value: string }[] }, wanted: string) =>
  answer.headers.filter(({ name }) => name === wanted).map(({ value }) => value);

describe('a phone', () => {
  it('gets a username and a password, which is shown once and stored nowhere', async () => {
    expect(phone.username).toMatch(/^ph-[a-z2-9]{10}$/);
    expect(phone.password).toHaveLength(20);
    const shown = await read();
    expect(shown).toMatchObject({ extension: '204', display_name: 'Front desk', registrations: [] });
    const stored = await api.context.models.sipPhones.findById(phone.sip_phone_id).lean();
    expect([JSON.stringify(shown), JSON.stringify(stored)].join()).not.toContain(phone.password);
  });

  it('has an extension that no other phone or agent of its account has', async () => {
    const agentId = await api.publishAgent(user);
    const give = (extension: string | null) =>
      api.request('PATCH', `/v1/agent/agents/${agentId}`, { key: user.key, body: { extension } });
    expect((await give('204')).status).toBe(422);
    expect((await give('101')).body.extension).toBe('101');
    const second = await api.request('POST', PHONES, { key: user.key, body: { extension: '101' } });
    expect([second.status, second.text]).toEqual([422, expect.stringContaining('another agent has this')]);
    const again = await api.request('POST', PHONES, { key: user.key, body: { extension: '204' } });
    expect([again.status, again.text]).toEqual([422, expect.stringContaining('another phone has this')]);
    expect((await give(null)).body).not.toHaveProperty('extension');
    // Another account has its own numbers.
    expect((await makePhone(api, await api.createUser(), '204')).extension).toBe('204');
  });

  it.each(['112', '911', '1', '1234567', '+49301', 'desk'])('has no extension %s', async (extension) => {
    expect((await api.request('POST', PHONES, { key: user.key, body: { extension } })).status).toBe(422);
  });

  it('is one of at most LIMIT_SIP_PHONES', async () => {
    await makePhone(api, user, '205');
    await makePhone(api, user, '206');
    const fourth = await api.request('POST', PHONES, { key: user.key, body: { extension: '207' } });
    expect(fourth.body).toMatchObject({ reason: 'quota_reached' });
  });

  it('of another account is not found', async () => {
    const { key } = await api.createUser();
    const url = `${PHONES}/${phone.sip_phone_id}`;
    expect((await api.request('GET', url, { key })).status).toBe(404);
    expect((await api.request('POST', `${url}/password`, { key })).status).toBe(404);
    expect((await api.request('DELETE', url, { key })).status).toBe(404);
  });
});

describe('a registration', () => {
  it('is accepted with the password, shown, and over when its time has passed', async () => {
    const answer = await device.register({ lines: { 'user-agent': 'Desk 1' } });
    expect([answer.status, ...fieldOf(answer, 'Contact')]).toEqual([
      200,
      `<sip:${phone.username}@${HOME}:5062>;expires=600`,
    ]);
    expect((await read()).registrations).toMatchObject([{ source_address: HOME, user_agent: 'Desk 1' }]);
    await api.clock.advance(600_000);
    expect((await read()).registrations).toEqual([]);
  });

  it('is challenged by each algorithm of SIP_DIGEST in a header of its own (RFC 8760)', async () => {
    const challenges = fieldOf(await device.send({}), 'WWW-Authenticate');
    expect(challenges.map((value) => /algorithm=([\w-]+)/.exec(value)?.[1])).toEqual(['MD5', 'SHA-256']);
  });

  it('of a device that cannot read a challenge by SHA-256 gets one by MD5 only (baresip 1)', async () => {
    const challenge = await device.send({ lines: { 'user-agent': 'baresip v1.0.0 (x86_64/linux)' } });
    expect(fieldOf(challenge, 'WWW-Authenticate')).toEqual([expect.stringContaining('algorithm=MD5')]);
  });

  it('may name the extension in place of the username, and nobody else', async () => {
    expect((await device.register({ user: '204' })).status).toBe(200);
    expect((await device.register({ user: '205' })).status).toBe(403);
  });

  it('survives the loss of the process: any replica has it', async () => {
    await device.register();
    expect(await api.context.models.sipPhones.findById(phone.sip_phone_id).lean()).toMatchObject({
      bindings: [{ address: HOME, server: '127.0.0.1:9022' }],
    });
  });

  it('of several devices at once stands beside the others', async () => {
    const devices = Array.from({ length: 5 }, () => new Device(api, phone));
    await Promise.all(
      devices.map((each, at) =>
        each.register({ callId: `d${at}`, contact: `<sip:x@${HOME}:${6_000 + at}>` }),
      ),
    );
    expect((await read()).registrations).toHaveLength(5);
  });

  it('ends with * and an interval of 0', async () => {
    await device.register();
    expect((await device.register({ contact: '*', lines: { expires: '0' } })).status).toBe(200);
    expect((await read()).registrations).toEqual([]);
  });

  it('security 12: adds nothing of its Contact to calls: neither headers nor a method', async () => {
    const uri = `sip:a;b?c@${HOME}:5062;method=BYE;ob?Route=%3Csip:10.0.0.1%3E`;
    const accepted = await device.register({ contact: `<${uri}>` });
    expect(fieldOf(accepted, 'Contact')).toEqual([expect.stringContaining(`<${uri}>`)]);
    expect(await placesOf(api.context, user.teamId, '204')).toMatchObject([
      { dial_uri: `sip:a;b?c@${HOME}:5062;ob`, next_hop: `sip:${HOME}:5062;transport=udp` },
    ]);
  });

  it('is told the shortest interval (423), and an extension that is unknown here (420)', async () => {
    const brief = await device.register({ contact: `<sip:x@${HOME}>;expires=10` });
    expect([brief.status, ...fieldOf(brief, 'Min-Expires')]).toEqual([423, '60']);
    const odd = await device.send({ lines: { require: 'path, teleport' } });
    expect([odd.status, ...fieldOf(odd, 'Unsupported')]).toEqual([420, 'teleport']);
  });

  it('is forgotten with its password, and with the phone', async () => {
    await device.register();
    const url = `${PHONES}/${phone.sip_phone_id}`;
    const { body } = await api.request('POST', `${url}/password`, { key: user.key });
    expect([body.registrations, body.password]).toEqual([[], expect.not.stringMatching(phone.password)]);
    expect((await device.register()).status).toBe(401);
    expect((await new Device(api, body).register()).status).toBe(200);
    await api.request('DELETE', url, { key: user.key });
    expect((await new Device(api, body).register()).status).toBe(401);
  });
});

describe('security 4: a guess at a password', () => {
  const stranger = '198.51.100.66';
  const wrong = () => new Device(api, { username: phone.username, password: 'wrong' });

  it('is answered alike whether or not the phone exists', async () => {
    const nobody = new Device(api, { username: 'ph-aaaaaaaaaa', password: 'wrong' });
    const shapeOf = async (guess: Device, source: string) => {
      const { status, reason, headers } = await guess.register({ source });
      return { status, reason, names: headers.map(({ name }) => name) };
    };
    expect(await shapeOf(wrong(), stranger)).toEqual(await shapeOf(nobody, '198.51.100.67'));
  });

  it('is shown to the holder of the phone', async () => {
    await wrong().register({ source: stranger });
    await expect.poll(read).toMatchObject({ last_refused: { source_address: stranger } });
  });

  it('is not even checked after 20 in a minute at one username, from whichever addresses', async () => {
    const statuses: number[] = [];
    for (let nth = 0; nth < 21; nth++)
      statuses.push((await wrong().register({ source: `198.18.0.${nth}` })).status);
    expect(statuses).toEqual([...Array(20).fill(401), 503]);
    // Not even with the right password.
    expect((await device.register({ source: stranger })).status).toBe(503);
    await api.clock.advance(60_000);
    expect((await device.register({ source: stranger })).status).toBe(200);
  });

  it('does not lock out the phone where it is registered', async () => {
    await device.register();
    for (let nth = 0; nth < 21; nth++) await wrong().register({ source: `198.18.1.${nth}` });
    expect((await device.register()).status).toBe(200);
  });

  it('does not lock out the phone where it was last registered', async () => {
    await device.register();
    await api.clock.advance(3_600_000);
    for (let nth = 0; nth < 21; nth++) await wrong().register({ source: `198.18.2.${nth}` });
    expect((await device.register()).status).toBe(200);
  });

  it('at a registration is answered without delay: it must not hold a place of others at the worker', async () => {
    const context = { ...api.context, refusals: new Refusals(api.clock, 20) };
    const guess = new Device({ ...api, context }, { username: phone.username, password: 'wrong' });
    for (let nth = 0; nth < 12; nth++) expect((await guess.register({ source: stranger })).status).toBe(401);
  });

  it('that is not checked for its network does not count against the username', async () => {
    for (let nth = 0; nth < 60; nth++)
      await new Device(api, { username: `nobody-${nth}`, password: 'x' }).register({ source: stranger });
    for (let nth = 0; nth < 21; nth++) await wrong().register({ source: stranger });
    expect((await device.register()).status).toBe(200);
  });

  it('is not checked after 60 in a minute from one network, at whichever usernames', async () => {
    const names = Array.from({ length: 61 }, (_, nth) => `nobody-${nth}`);
    const statuses: number[] = [];
    for (const username of names)
      statuses.push(
        (await new Device(api, { username, password: 'x' }).register({ source: stranger })).status,
      );
    expect(statuses).toEqual([...Array(60).fill(401), 503]);
  });
});

describe('security 4: an answer to a challenge', () => {
  it('is accepted once', async () => {
    const authorization = device.authorization(await device.send({}));
    expect((await device.send({}, authorization)).status).toBe(200);
    const replayed = await device.send({}, authorization);
    expect([replayed.status, ...fieldOf(replayed, 'WWW-Authenticate')]).toEqual([
      401,
      expect.stringContaining('stale=true'),
      expect.stringContaining('stale=true'),
    ]);
  });

  it('may use the nonce again with the next count', async () => {
    const challenge = await device.send({});
    expect((await device.send({}, device.authorization(challenge, 1))).status).toBe(200);
    expect((await device.send({}, device.authorization(challenge, 2))).status).toBe(200);
  });

  it('is stale after a minute, and from another address than that of the challenge', async () => {
    const challenge = await device.send({});
    const elsewhere = await device.send({ source: '198.51.100.66' }, device.authorization(challenge));
    expect(fieldOf(elsewhere, 'WWW-Authenticate')[0]).toContain('stale=true');
    await api.clock.advance(61_000);
    const late = await device.send({}, device.authorization(challenge));
    expect(fieldOf(late, 'WWW-Authenticate')[0]).toContain('stale=true');
  });
});
