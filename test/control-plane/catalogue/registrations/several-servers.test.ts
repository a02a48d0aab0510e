/** A registration with several SIP servers on our side, and with several servers of the registrar. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { accepted, contactOf, type Registrar, startRegistrar } from '#test/fakes/registrar.ts';
import { startTestSignalling } from '#test/fakes/signalling.ts';
import { freeTcpPort } from '#test/free-port.ts';
import { openRegistrationBench, type RegistrationBench } from './registration-bench.ts';

let bench: RegistrationBench;
let registrar: Registrar;
const account = () => ({ registrar: registrar.address, username: '204', password: 'secret' });

afterEach(async () => {
  await bench.close();
  await registrar.close();
});

describe('a registration whose SIP server is lost', () => {
  let second: EmbeddedSignalling;
  /** The Contacts that the registrar has. */
  let bindings: Set<string>;

  beforeEach(async () => {
    bindings = new Set();
    registrar = await startRegistrar((request) => {
      if (request.start.kind === 'request' && request.start.method === 'OPTIONS') return { status: 200 };
      if (header(request, 'expires') === '0') bindings.delete(contactOf(request));
      else bindings.add(contactOf(request));
      return { status: 200, lines: [...bindings].map((uri) => `Contact: <${uri}>;expires=600`) };
    });
    second = await startTestSignalling();
    bench = await openRegistrationBench({ second });
  });
  afterEach(() => second.close());

  it('moves to another one at its next sign of life, and leaves no binding behind', async () => {
    const { sip_registration_id: id } = await bench.register({ ...account(), keep_alive_seconds: 10 });
    expect(bindings.size).toBe(1);
    const { contact: before } = await bench.read(id);
    const lost = before.endsWith(`:${second.sipPort}`) ? second : bench.signalling;
    await lost.close();
    await expect.poll(() => bench.worker.servers.length).toBe(1);
    for (let tick = 0; tick < 13; tick++) await bench.pass(1_000);
    const { contact, state } = await bench.read(id);
    expect(state).toBe('registered');
    expect(contact).not.toBe(before);
    expect([...bindings]).toEqual([contact]);
  });
});

describe('a registrar with several servers', () => {
  it('is registered at the next one if the first cannot be reached', async () => {
    registrar = await startRegistrar((request) => accepted(request, 600));
    const closed = await freeTcpPort();
    bench = await openRegistrationBench({
      hopsOf: async () => [
        { uri: `sip:127.0.0.1:${closed};transport=tcp`, address: '127.0.0.1', transport: 'tcp' },
        { uri: `sip:${registrar.address};transport=udp`, address: '127.0.0.1', transport: 'udp' },
      ],
    });
    expect(await bench.register(account())).toMatchObject({ state: 'registered', last_error: null });
  });

  it('stays with the one that has accepted it, in whatever order DNS names them', async () => {
    registrar = await startRegistrar((request) => accepted(request, 600));
    const other = await startRegistrar((request) => accepted(request, 600));
    let order = [registrar, other];
    bench = await openRegistrationBench({
      hopsOf: async () =>
        order.map(({ address }) => ({
          uri: `sip:${address};transport=udp`,
          address: '127.0.0.1',
          transport: 'udp' as const,
        })),
    });
    await bench.register({ ...account(), keep_alive_seconds: 30 });
    order = [other, registrar];
    for (let passed = 0; passed < 10; passed++) await bench.pass(31_000);
    expect(other.requests).toEqual([]);
    expect(registrar.of('REGISTER').length).toBeGreaterThan(1);
    await other.close();
  });

  it.each(['tcp', 'tls'])('shows what to check if none can be reached over %s', async (transport) => {
    registrar = await startRegistrar((request) => accepted(request, 600));
    const closed = await freeTcpPort();
    bench = await openRegistrationBench();
    const nowhere = { ...account(), registrar: `127.0.0.1:${closed}`, transport };
    expect(await bench.register(nowhere)).toMatchObject({
      state: 'retrying',
      last_error: {
        sip_status: null,
        message: expect.stringContaining('check host, port and transport'),
      },
    });
  });
});
