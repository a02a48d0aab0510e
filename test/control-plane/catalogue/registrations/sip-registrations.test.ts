/** SIP registrations over the API, and their upkeep in the background. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header } from '#telephony/embedded/message.ts';
import {
  accepted,
  challenged,
  contactOf,
  proves,
  type Registrar,
  startRegistrar,
} from '#test/fakes/registrar.ts';
import { openRegistrationBench, REGISTRATIONS, type RegistrationBench } from './registration-bench.ts';

let bench: RegistrationBench;
let registrar: Registrar;
const account = () => ({ registrar: registrar.address, username: '204', password: 'secret-204' });

/** Challenges every request once and checks the password. */
const strict = (request: Parameters<typeof accepted>[0], nth: number) => {
  if (header(request, 'authorization') === null) return challenged(`nonce-${nth}`);
  return proves(request, 'secret-204') ? accepted(request, 600) : challenged(`nonce-${nth}`);
};

beforeEach(async () => {
  registrar = await startRegistrar(strict);
  bench = await openRegistrationBench();
});
afterEach(async () => {
  await bench.close();
  await registrar.close();
});

describe('a SIP registration', () => {
  it('registers at once with its password and shows state, expiry and Contact', async () => {
    const shown = await bench.register(account());
    expect(shown).toMatchObject({
      registrar: registrar.address,
      username: '204',
      transport: 'auto',
      state: 'registered',
      registered_until: new Date(bench.api.clock.wallTime() + 600_000).toISOString(),
      last_error: null,
    });
    const [first, second] = registrar.of('REGISTER');
    expect(registrar.of('REGISTER')).toHaveLength(2);
    expect(first?.start).toMatchObject({ uri: `sip:${registrar.address}` });
    expect(header(first!, 'to')).toBe('<sip:204@127.0.0.1>');
    expect(header(first!, 'call-id')).toBe(header(second!, 'call-id'));
    expect([header(first!, 'cseq'), header(second!, 'cseq')]).toEqual(['1 REGISTER', '2 REGISTER']);
    expect(contactOf(second!)).toBe(shown.contact);
    expect(shown.contact).toMatch(
      new RegExp(`^sip:[0-9a-f]{30}@127\\.0\\.0\\.1:${bench.signalling.sipPort}$`),
    );
  });

  it('never shows its password, and stores it sealed', async () => {
    const { sip_registration_id: id } = await bench.register(account());
    const listed = await bench.api.request('GET', REGISTRATIONS, { key: bench.user.key });
    expect(listed.body.sip_registrations).toHaveLength(1);
    expect(listed.text).not.toContain('secret-204');
    const stored = await bench.api.context.models.sipRegistrations.findById(id).lean();
    expect(JSON.stringify(stored)).not.toContain('secret-204');
  });

  it('is refreshed before it runs out, with the next CSeq of the same Call-ID', async () => {
    await bench.register({ ...account(), keep_alive_seconds: 0 });
    await bench.pass(239_000);
    expect(registrar.of('REGISTER')).toHaveLength(2);
    await bench.pass(62_000);
    const all = registrar.of('REGISTER');
    expect(all).toHaveLength(4);
    expect(new Set(all.map((request) => header(request, 'call-id'))).size).toBe(1);
    expect(header(all[3]!, 'cseq')).toBe('4 REGISTER');
  });

  it('asks the registrar for a sign of life between refreshes', async () => {
    const { sip_registration_id: id } = await bench.register({ ...account(), keep_alive_seconds: 30 });
    registrar.use(() => ({ status: 405 }));
    await bench.pass(31_000);
    expect(registrar.of('OPTIONS')).toHaveLength(1);
    expect(registrar.of('REGISTER')).toHaveLength(2);
    expect((await bench.read(id)).state).toBe('registered');
  });

  it('registers anew after a change of its password', async () => {
    const { sip_registration_id: id } = await bench.register({ ...account(), password: 'wrong' });
    expect(await bench.read(id)).toMatchObject({
      state: 'refused',
      registered_until: null,
      last_error: {
        sip_status: 401,
        message: expect.stringContaining('does not accept the username and password'),
      },
    });
    const url = `${REGISTRATIONS}/${id}`;
    await bench.api.request('PATCH', url, { key: bench.user.key, body: { password: 'secret-204' } });
    await bench.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'registered', last_error: null });
  });

  it('that is changed in the middle of a round begins anew with the change', async () => {
    const { dispatch } = bench.api;
    const { answerSip } = dispatch;
    dispatch.answerSip = async (request) => {
      dispatch.answerSip = answerSip;
      const [{ _id: id } = { _id: '' }] = await bench.api.context.models.sipRegistrations.find().lean();
      const body = { expires_seconds: 300 };
      await bench.api.request('PATCH', `${REGISTRATIONS}/${id}`, { key: bench.user.key, body });
      return answerSip!(request);
    };
    await bench.register(account());
    await bench.pass(1_000);
    const asked = registrar.of('REGISTER').map((request) => header(request, 'expires'));
    expect(asked).toEqual(['600', '300', '300']);
  });

  it('keeps its password only for the servers that it was given for', async () => {
    const { sip_registration_id: id } = await bench.register(account());
    const url = `${REGISTRATIONS}/${id}`;
    const patch = (body: object) => bench.api.request('PATCH', url, { key: bench.user.key, body });
    const elsewhere = await patch({ outbound_proxy: '127.0.0.1:5099' });
    expect([elsewhere.status, elsewhere.text]).toEqual([422, expect.stringContaining('must be given again')]);
    expect((await patch({ label: 'Office' })).body.label).toBe('Office');
  });

  it('tells the registrar when it is deleted, and is gone', async () => {
    const { sip_registration_id: id, contact } = await bench.register(account());
    const url = `${REGISTRATIONS}/${id}`;
    expect((await bench.api.request('DELETE', url, { key: bench.user.key })).status).toBe(204);
    expect((await bench.api.request('GET', url, { key: bench.user.key })).status).toBe(404);
    await bench.settle();
    const last = registrar.of('REGISTER').at(-1)!;
    expect(header(last, 'expires')).toBe('0');
    expect(contactOf(last)).toBe(contact);
    expect(await bench.api.context.models.sipRegistrations.findById(id).lean()).toBeNull();
  });

  it('that is deleted while the registrar accepts it is ended there', async () => {
    const { api, user } = bench;
    const { dispatch } = api;
    const { answerSip } = dispatch;
    dispatch.answerSip = async (request) => {
      const answer = await answerSip!(request);
      const [{ _id: id } = { _id: '' }] = await api.context.models.sipRegistrations.find().lean();
      if (answer.status === 200 && request.headers['Expires'] !== '0')
        await api.request('DELETE', `${REGISTRATIONS}/${id}`, { key: user.key });
      return answer;
    };
    await api.request('POST', REGISTRATIONS, { key: user.key, body: account() });
    await bench.settle();
    await bench.pass(1_000);
    const asked = registrar.of('REGISTER').map((request) => header(request, 'expires'));
    expect(asked).toEqual(['600', '600', '0', '0']);
    expect(await api.context.models.sipRegistrations.countDocuments()).toBe(0);
  });

  it('security 12: is refused for a host that tenants must not have called', async () => {
    const body = { ...account(), registrar: '10.0.0.5' };
    const made = await bench.api.request('POST', REGISTRATIONS, { key: bench.user.key, body });
    expect([made.status, made.text]).toEqual([422, expect.stringContaining('not a public address')]);
  });

  it.each([
    ['a registrar with a scheme', { registrar: 'sip:pbx.example' }],
    ['a username that ends the address', { username: '204@other' }],
    ['a password with a line end', { password: 'a\r\nVia: x' }],
    ['an expiry of a second', { expires_seconds: 1 }],
    ['an unknown field', { realm: 'x' }],
  ])('is 422 if it has %s', async (_, fault) => {
    const body = { ...account(), ...fault };
    expect((await bench.api.request('POST', REGISTRATIONS, { key: bench.user.key, body })).status).toBe(422);
  });

  it('cannot be read or changed by another team', async () => {
    const { sip_registration_id: id } = await bench.register(account());
    const stranger = await bench.api.createUser();
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const request = { key: stranger.key, ...(method === 'PATCH' ? { body: { label: 'mine' } } : {}) };
      expect((await bench.api.request(method, `${REGISTRATIONS}/${id}`, request)).status).toBe(404);
    }
  });

  it('belongs to one imported number, from which calls then go out', async () => {
    const trunkless = { provider: 'sip', inbound_allowed_addresses: ['203.0.113.20'] };
    const imported = await bench.api.request('POST', '/v1/agent/phone-numbers', {
      key: bench.user.key,
      body: { ...trunkless, phone_number: '+4930123456' },
    });
    const number: string = imported.body.phone_number_id;
    expect(imported.body.supports_outbound).toBe(false);
    await bench.register({ ...account(), phone_number_id: number });
    const again = { ...account(), username: '205', phone_number_id: number };
    const second = await bench.api.request('POST', REGISTRATIONS, { key: bench.user.key, body: again });
    expect([second.status, second.text]).toEqual([422, expect.stringContaining('has another registration')]);
    const shown = await bench.api.request('GET', `/v1/agent/phone-numbers/${number}`, {
      key: bench.user.key,
    });
    expect(shown.body.supports_outbound).toBe(true);
  });
});

describe('several replicas', () => {
  beforeEach(async () => {
    await bench.close();
    bench = await openRegistrationBench({ replicas: 3 });
  });

  it('keep one registration once', async () => {
    await bench.register({ ...account(), keep_alive_seconds: 0 });
    for (let refresh = 0; refresh < 4; refresh++) await bench.pass(301_000);
    const sent = registrar.of('REGISTER').map((request) => header(request, 'cseq'));
    expect(sent).toEqual(Array.from({ length: 10 }, (_, index) => `${index + 1} REGISTER`));
  });

  it('go on with a registration whose replica died in the middle of a round', async () => {
    const { sip_registration_id: id } = await bench.register({ ...account(), keep_alive_seconds: 0 });
    const { models, clock } = bench.api.context;
    const dead = { lease_by: 'dead', lease_until: new Date(clock.wallTime() + 400_000) };
    await models.sipRegistrations.updateOne({ _id: id }, { $set: dead });
    await bench.pass(320_000);
    expect(registrar.of('REGISTER')).toHaveLength(2);
    await bench.pass(81_000);
    expect(header(registrar.of('REGISTER').at(-1)!, 'cseq')).toBe('4 REGISTER');
  });
});
