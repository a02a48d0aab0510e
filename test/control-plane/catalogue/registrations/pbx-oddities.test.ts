/**
 * Answers of PBXs and carriers to a REGISTER, by messages that users of other programs have reported. Each
 * scenario runs over real sockets.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header, type SipMessage } from '#telephony/embedded/message.ts';
import {
  accepted,
  challenged,
  contactOf,
  credentialsOf,
  proves,
  type Registrar,
  type Script,
  startRegistrar,
} from '#test/fakes/registrar.ts';
import { openRegistrationBench, type RegistrationBench } from './registration-bench.ts';

let bench: RegistrationBench;
const registrars: Registrar[] = [];

async function registrarOf(script: Script): Promise<Registrar> {
  const registrar = await startRegistrar(script);
  registrars.push(registrar);
  return registrar;
}

async function register(registrar: Registrar, more: Record<string, unknown> = {}) {
  const account = {
    registrar: registrar.address,
    username: '204',
    password: 'secret',
    keep_alive_seconds: 0,
  };
  return bench.register({ ...account, ...more });
}

const isAuthorised = (request: SipMessage) => header(request, 'authorization') !== null;
const expiresOf = (request: SipMessage | undefined) => (request ? header(request, 'expires') : null);

beforeEach(async () => {
  bench = await openRegistrationBench();
});
afterEach(async () => {
  await bench.close();
  for (const registrar of registrars.splice(0)) await registrar.close();
});

describe('an interval that is too short (423)', () => {
  it('is raised once to Min-Expires, also after the password was checked (OpenScape Voice)', async () => {
    const registrar = await registrarOf((request, nth) => {
      if (!isAuthorised(request)) return challenged(`n${nth}`);
      if (Number(expiresOf(request)) < 900) return { status: 423, lines: ['Min-Expires: 900'] };
      return accepted(request, 900);
    });
    expect((await register(registrar)).state).toBe('registered');
    expect(registrar.of('REGISTER').map(expiresOf)).toEqual(['600', '600', '900', '900']);
  });

  it('ends the attempt if the registrar does not say which it wants', async () => {
    const registrar = await registrarOf(() => ({ status: 423, reason: 'Interval Too Brief' }));
    expect(await register(registrar)).toMatchObject({
      state: 'refused',
      last_error: { sip_status: 423, message: expect.stringContaining('does not say which') },
    });
    expect(registrar.of('REGISTER')).toHaveLength(1);
  });
});

describe('the interval that is granted', () => {
  it('of one second less (Asterisk) does not shrink the next request', async () => {
    const registrar = await registrarOf((request) => accepted(request, Number(expiresOf(request)) - 1));
    await register(registrar);
    for (let refresh = 0; refresh < 3; refresh++) await bench.pass(301_000);
    expect(new Set(registrar.of('REGISTER').map(expiresOf))).toEqual(new Set(['600']));
  });

  it('is that of our own Contact among those of other phones', async () => {
    const registrar = await registrarOf((request) => ({
      status: 200,
      lines: [
        'Contact: <sip:204@192.0.2.7:5060>;expires=3600',
        `Contact: <${contactOf(request)}>;expires=120`,
        'Expires: 3600',
      ],
    }));
    const { registered_until: until } = await register(registrar);
    expect(Date.parse(until) - bench.api.clock.wallTime()).toBe(120_000);
  });

  it('is that of the header Expires if the Contact is missing or rewritten', async () => {
    const registrar = await registrarOf(() => ({
      status: 200,
      lines: ['Contact: "rewritten" <sip:s@198.51.100.3:40000;ob>', 'Expires: 180'],
    }));
    const { registered_until: until } = await register(registrar);
    expect(Date.parse(until) - bench.api.clock.wallTime()).toBe(180_000);
  });

  it('of 0 seconds is no registration', async () => {
    const registrar = await registrarOf((request) => accepted(request, 0));
    expect(await register(registrar)).toMatchObject({ state: 'refused', registered_until: null });
  });
});

describe('a challenge', () => {
  it('to every request is answered each time with its new nonce, never with an old one (FRITZ!Box)', async () => {
    const used = new Set<string>();
    const registrar = await registrarOf((request, nth) => {
      const nonce = credentialsOf(request).get('nonce');
      if (nonce === undefined || used.has(nonce)) return challenged(`n${nth}`);
      used.add(nonce);
      return proves(request, 'secret') ? accepted(request, 600) : { status: 403 };
    });
    const { sip_registration_id: id } = await register(registrar);
    await bench.pass(301_000);
    expect((await bench.read(id)).state).toBe('registered');
    expect(registrar.of('REGISTER')).toHaveLength(4);
  });

  it('whose nonce was stale is answered again', async () => {
    const registrar = await registrarOf((request, nth) => {
      if (nth === 1) return challenged('n1');
      if (nth === 2) return challenged('n2', ', qop="auth", stale=TRUE');
      return proves(request, 'secret') ? accepted(request, 600) : { status: 403 };
    });
    expect((await register(registrar)).state).toBe('registered');
  });

  it('without the word stale counts once as stale for an account that has registered before', async () => {
    const registrar = await registrarOf((request, nth) => {
      if (!isAuthorised(request)) return challenged(`n${nth}`);
      return nth === 4 ? challenged(`n${nth}`) : accepted(request, 600);
    });
    const { sip_registration_id: id } = await register(registrar);
    await bench.pass(301_000);
    expect((await bench.read(id)).state).toBe('registered');
    expect(registrar.of('REGISTER')).toHaveLength(5);
  });

  it('to an account that never registered is answered once: a wrong password must not lock it', async () => {
    const registrar = await registrarOf((_, nth) => challenged(`n${nth}`));
    expect((await register(registrar)).state).toBe('refused');
    expect(registrar.of('REGISTER')).toHaveLength(2);
    await bench.pass(3_000_000);
    expect(registrar.of('REGISTER')).toHaveLength(2);
    await bench.pass(700_000);
    expect(registrar.of('REGISTER')).toHaveLength(4);
  });

  it('of a proxy (407) and then of the registrar (401) gets both answers', async () => {
    const registrar = await registrarOf((request) => {
      if (header(request, 'proxy-authorization') === null)
        return { status: 407, lines: ['Proxy-Authenticate: Digest realm="edge", nonce="p1", qop="auth"'] };
      return isAuthorised(request) ? accepted(request, 600) : challenged('n1');
    });
    expect((await register(registrar)).state).toBe('registered');
    const last = registrar.of('REGISTER').at(-1)!;
    expect(credentialsOf(last, 'proxy-authorization').get('nc')).toBe('00000002');
    expect(credentialsOf(last).get('nc')).toBe('00000001');
  });

  it('of the name of the account for authentication uses that name', async () => {
    const registrar = await registrarOf((request) =>
      isAuthorised(request) ? accepted(request, 600) : challenged('n1'),
    );
    await register(registrar, { auth_username: 'auth-204@pbx' });
    expect(credentialsOf(registrar.of('REGISTER')[1]!).get('username')).toBe('auth-204@pbx');
  });
});

describe('another place', () => {
  it('named by a redirection is registered at (302)', async () => {
    const second = await registrarOf((request) => accepted(request, 600));
    const first = await registrarOf(() => ({ status: 302, lines: [`Contact: <sip:204@${second.address}>`] }));
    expect((await register(first)).state).toBe('registered');
    expect(second.of('REGISTER')[0]?.start).toMatchObject({ uri: `sip:${second.address}` });
  });

  it('is registered at without the user part of its Contact, whatever signs that has', async () => {
    const second = await registrarOf((request) => accepted(request, 600));
    const parameters = ';transport=udp;method=REGISTER;x=1?Subject=b';
    const contact = `Contact: <sip:204;line=7?a@${second.address}${parameters}>`;
    const first = await registrarOf(() => ({ status: 302, lines: [contact] }));
    expect((await register(first)).state).toBe('registered');
    expect(second.of('REGISTER')[0]?.start).toMatchObject({ uri: `sip:${second.address};transport=udp;x=1` });
  });

  it('that leads back in a circle is given up', async () => {
    const registrar = await registrarOf((request) => ({
      status: 301,
      lines: [`Contact: <${request.start.kind === 'request' ? request.start.uri : ''}>`],
    }));
    expect(await register(registrar)).toMatchObject({
      state: 'refused',
      last_error: { message: expect.stringContaining('redirects in a circle') },
    });
    expect(registrar.of('REGISTER')).toHaveLength(4);
  });

  it('security 12: that tenants must not have called is not called by a redirection either', async () => {
    const registrar = await registrarOf(() => ({ status: 302, lines: ['Contact: <sip:204@10.0.0.5>'] }));
    expect(await register(registrar)).toMatchObject({
      state: 'refused',
      last_error: { message: expect.stringContaining('not a public address') },
    });
  });
});

describe('behind a NAT', () => {
  const seen = { address: '198.51.100.9', port: 41_234 };

  it('the Contact becomes the address at which the registrar sees us, and the other one is removed', async () => {
    const bindings = new Set<string>();
    const registrar = await registrarOf((request) => {
      if (expiresOf(request) === '0') bindings.delete(contactOf(request));
      else bindings.add(contactOf(request));
      const lines = [...bindings].map((uri) => `Contact: <${uri}>;expires=600`);
      return { status: 200, lines, seen };
    });
    const { sip_registration_id: id } = await register(registrar);
    await bench.pass(1_000);
    const { contact } = await bench.read(id);
    expect(contact).toMatch(/^sip:[0-9a-f]{30}@198\.51\.100\.9:41234$/);
    expect([...bindings]).toEqual([contact]);
    await bench.pass(10_000);
    expect(registrar.of('REGISTER')).toHaveLength(3);
  });

  it('a sign of life that comes from elsewhere now makes it register again', async () => {
    const registrar = await registrarOf((request) => ({ ...accepted(request, 600), seen }));
    const { sip_registration_id: id } = await register(registrar, { keep_alive_seconds: 30 });
    await bench.pass(1_000);
    const moved = { ...seen, port: 50_001 };
    registrar.use((request) => ({ ...accepted(request, 600), seen: moved }));
    await bench.pass(31_000);
    for (let round = 0; round < 3; round++) await bench.pass(1_000);
    expect((await bench.read(id)).contact).toContain('@198.51.100.9:50001');
  });

  it('the registrar may want signs of life more often (Flow-Timer)', async () => {
    const registrar = await registrarOf((request) => accepted(request, 600, ['Flow-Timer: 10']));
    await register(registrar);
    await bench.pass(11_000);
    expect(registrar.of('OPTIONS')).toHaveLength(1);
  });
});

describe('a failure', () => {
  it('with Retry-After is tried again then, not before', async () => {
    const registrar = await registrarOf(() => ({ status: 503, lines: ['Retry-After: 120 (maintenance)'] }));
    expect((await register(registrar)).state).toBe('retrying');
    await bench.pass(119_000);
    expect(registrar.of('REGISTER')).toHaveLength(1);
    registrar.use((request) => accepted(request, 600));
    await bench.pass(15_000);
    expect(registrar.of('REGISTER')).toHaveLength(2);
  });

  it('of a PBX that starts again is retried within a minute, and recovers', async () => {
    const registrar = await registrarOf((request) => accepted(request, 600));
    const { sip_registration_id: id } = await register(registrar);
    registrar.use(() => ({ status: 403, reason: 'Forbidden' }));
    await bench.pass(301_000);
    expect(await bench.read(id)).toMatchObject({ state: 'refused', last_error: { sip_status: 403 } });
    registrar.use((request) => accepted(request, 600));
    await bench.pass(61_000);
    expect(await bench.read(id)).toMatchObject({ state: 'registered', last_error: null });
  });

  it.each([
    [404, 'Not Found'],
    [403, 'Too many registrations'],
    [439, 'First Hop Lacks Outbound Support'],
    [606, 'Not Acceptable'],
  ])('%i from the start is shown, and repeated only once an hour', async (status, reason) => {
    const registrar = await registrarOf(() => ({ status, reason }));
    expect(await register(registrar)).toMatchObject({
      state: 'refused',
      last_error: { sip_status: status, message: expect.stringContaining(reason) },
    });
    await bench.pass(3_200_000);
    expect(registrar.of('REGISTER')).toHaveLength(1);
  });

  it('of the only signalling is shown, and over as soon as there is one', async () => {
    const registrar = await registrarOf((request) => accepted(request, 600));
    const answerSip = bench.api.dispatch.answerSip;
    bench.api.dispatch.answerSip = null;
    const { sip_registration_id: id } = await register(registrar);
    expect((await bench.read(id)).last_error.message).toContain('No worker is connected');
    bench.api.dispatch.answerSip = answerSip;
    await bench.pass(5_000);
    expect((await bench.read(id)).state).toBe('registered');
  });

  it('of the only signalling is looked for by one registration a second, not by all', async () => {
    const registrar = await registrarOf((request) => accepted(request, 600));
    const { answerSip } = bench.api.dispatch;
    bench.api.dispatch.answerSip = null;
    const users = Array.from({ length: 8 }, (_, index) => `${300 + index}`);
    for (const username of users) await register(registrar, { username });
    const attempts = async () => {
      const all = await bench.api.context.models.sipRegistrations.find().lean();
      return all.reduce((sum, { cseq }) => sum + cseq, 0);
    };
    const before = await attempts();
    for (let second = 0; second < 10; second++) await bench.pass(1_000);
    expect((await attempts()) - before).toBeLessThanOrEqual(10);
    bench.api.dispatch.answerSip = answerSip;
    for (let second = 0; second < 6; second++) await bench.pass(1_000);
    expect(registrar.of('REGISTER')).toHaveLength(users.length);
  });
});
