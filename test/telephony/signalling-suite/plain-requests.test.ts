/**
 * Requests outside any call that a worker sends, such as a REGISTER: through either server, to a registrar.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { header } from '#telephony/embedded/message.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { accepted, contactOf, type Registrar, startRegistrar } from '#test/fakes/registrar.ts';
import { connectWorker, describeServers, type SuiteServer } from './servers.ts';

describeServers([], 'a request outside any call', (start) => {
  let server: SuiteServer;
  let worker: Signalling;
  let registrar: Registrar;

  beforeEach(async () => {
    registrar = await startRegistrar((request) => accepted(request, 300));
    server = await start();
    worker = await connectWorker(server);
  });
  afterEach(async () => {
    worker.close();
    await server.close();
    await registrar.close();
  });

  const register = (cseq: number) =>
    worker.request({
      method: 'REGISTER',
      uri: 'sip:pbx.example',
      nextHop: `sip:${registrar.address};transport=udp`,
      headers: {
        From: '<sip:204@pbx.example>;tag=from-1',
        To: '<sip:204@pbx.example>',
        'Call-ID': 'registration-1',
        CSeq: `${cseq} REGISTER`,
        Contact: '<sip:token@localhost>;expires=300',
        Expires: '300',
      },
      server: null,
    });

  it('keeps the identity that it was given, and gets the address of its server as Contact', async () => {
    const answer = await register(7);
    const [request] = registrar.requests;
    expect(request?.start).toMatchObject({ method: 'REGISTER', uri: 'sip:pbx.example' });
    expect(header(request!, 'call-id')).toBe('registration-1');
    expect(header(request!, 'cseq')).toBe('7 REGISTER');
    expect(header(request!, 'from')).toBe('<sip:204@pbx.example>;tag=from-1');
    expect(contactOf(request!)).toMatch(new RegExp(`^sip:token@127\\.0\\.0\\.1:${server.sipPort}`));
    expect(answer).toMatchObject({
      status: 200,
      sourceAddress: '127.0.0.1',
      contact: contactOf(request!),
      server: worker.servers[0],
    });
    expect(answer.headers).toContainEqual(expect.objectContaining({ name: 'Contact' }));
  });

  it('brings every header of the answer, those of one name apart', async () => {
    const challenges = [
      'WWW-Authenticate: Digest realm="a", nonce="1"',
      'WWW-Authenticate: Digest realm="b", nonce="2"',
    ];
    registrar.use(() => ({ status: 401, lines: challenges }));
    const { status, headers } = await register(1);
    expect(status).toBe(401);
    expect(headers.filter(({ name }) => name.toLowerCase() === 'www-authenticate')).toHaveLength(2);
  });

  it('is rejected while no server is connected', async () => {
    worker.close();
    await expect(register(1)).rejects.toThrow('not connected');
  });
});
