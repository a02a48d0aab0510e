/**
 * Phones over the real embedded signalling, a worker's registrar and the API on a port: what is on the wire,
 * and how a phone is called by the way it came.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { placesOf } from '#control-plane/catalogue/phones/phone-places.ts';
import type { PhonePlace } from '#protocol/phone-places.ts';
import { registrarOf } from '#runtime/worker/registrar.ts';
import { answerChallenge, readChallenges } from '#telephony/digest-challenge.ts';
import { header, parseMessage, type SipMessage } from '#telephony/embedded/message.ts';
import { MessageStream } from '#telephony/embedded/message-stream.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { answerPhone } from '#test/fakes/baresip.ts';
import { makeCertificate } from '#test/fakes/certificate.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { itNeeds } from '#test/needs.ts';
import { openRawCaller } from '../../../telephony/embedded/raw-caller.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { type MadePhone, makePhone } from './phone-bench.ts';

const SDP =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';
const logger = createLogger({ level: 'silent', name: 'test' });
let api: TestCalls;
let url: string;
let user: TestUser;
let phone: MadePhone;
let signalling: EmbeddedSignalling;
/** Another SIP server of the same worker. */
let other: EmbeddedSignalling;
let worker: Signalling;

beforeAll(async () => {
  api = await openTestCalls();
  url = await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => api.close());
beforeEach(async () => {
  user = await api.createUser();
  phone = await makePhone(api, user, '204');
  signalling = await startTestSignalling();
  other = await startTestSignalling();
  worker = await connectTestWorker([other, signalling]);
  await expect.poll(() => worker.servers).toHaveLength(2);
});
afterEach(async () => {
  worker.close();
  await Promise.all([signalling.close(), other.close()]);
});

function serve(more: { readonly url?: string } = {}): void {
  const { workerToken: token } = api.context.credentials;
  worker.onRegister(registrarOf({ url, token, clock: systemClock, logger, random: () => 0.5, ...more }));
}

/** The answer of a phone to the first challenge. */
function authorizationTo(challenge: SipMessage): string {
  const [first] = readChallenges({ status: 401, headers: challenge.headers });
  if (!first) throw new Error('no challenge');
  const proof = { cnonce: 'c', uses: 1 };
  return answerChallenge(first, { method: 'REGISTER', uri: 'sip:127.0.0.1' }, phone, proof);
}

/** A REGISTER of a phone whose Contact is its private address. */
function register(of: { cseq: number; via: string; lines?: readonly string[] }): string {
  const party = `<sip:${phone.username}@127.0.0.1>`;
  return [
    'REGISTER sip:127.0.0.1 SIP/2.0',
    `Via: ${of.via};branch=z9hG4bK-${phone.username}-${of.cseq};rport`,
    `f: ${party};tag=1`,
    `t: ${party}`,
    `i: ${phone.username}`,
    `CSeq: ${of.cseq} REGISTER`,
    `m: <sip:${phone.username}@192.168.1.10:5060>;expires=600`,
    ...(of.lines ?? []),
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n');
}

/** An INVITE of the worker, by the way the phone came. */
function callAt({ dial_uri: toUri, next_hop: nextHop, routes, server }: PhonePlace) {
  const own = { fromUser: '+4930123456', fromHost: 'localhost', contactPlace: null };
  const line = { ...own, nextHop, routes, server };
  const call = { toUri, nextHop, line, fromNumber: '+4930123456', headers: {} };
  return worker.dial({ ...call, sdpOffer: SDP, credentials: null });
}

it('is challenged in lines of their own, and registers where it is seen behind its NAT (RFC 3581)', async () => {
  serve();
  const caller = await openRawCaller(signalling.sipPort);
  const via = 'SIP/2.0/UDP 192.168.1.10:5060';
  caller.send(register({ cseq: 1, via }));
  const challenge = await caller.response(401);
  const lines = challenge.headers.filter(({ name }) => name.toLowerCase() === 'www-authenticate');
  expect(lines.map(({ value }) => /algorithm=([\w-]+)/.exec(value)?.[1])).toEqual(['MD5', 'SHA-256']);
  caller.send(register({ cseq: 2, via, lines: [`Authorization: ${authorizationTo(challenge)}`] }));
  const accepted = await caller.response(200);
  expect(header(accepted, 'contact')).toMatch(/^<sip:ph-\w+@192\.168\.1\.10:5060>;expires=90$/);
  expect(await placesOf(api.context, user.teamId, '204')).toMatchObject([
    { next_hop: `sip:127.0.0.1:${caller.port};transport=udp`, server: `127.0.0.1:${signalling.appPort}` },
  ]);
  caller.close();
});

it('is told to come back while no control plane answers', async () => {
  serve({ url: 'http://127.0.0.1:1' });
  const caller = await openRawCaller(signalling.sipPort);
  caller.send(register({ cseq: 1, via: 'SIP/2.0/UDP 192.168.1.10:5060' }));
  expect(header(await caller.response(503), 'retry-after')).toBe('18');
  caller.close();
});

it('is called over the connection that it has opened, by the server that has it, and fails at once when it is gone', async () => {
  serve();
  const socket = connect(signalling.sipPort, '127.0.0.1');
  await once(socket, 'connect');
  const received: SipMessage[] = [];
  const stream = new MessageStream();
  socket.on('data', (bytes) => {
    for (const { text } of stream.take(bytes)) received.push(parseMessage(text) as SipMessage);
  });
  const via = 'SIP/2.0/TCP 192.168.1.10:5060';
  const instance = '+sip.instance="<urn:uuid:1>"';
  const outbound = [`m: <sip:flow@192.168.1.10;transport=tcp>;reg-id=1;${instance}`, 'Supported: outbound'];
  socket.write(register({ cseq: 1, via }));
  await expect.poll(() => received).toHaveLength(1);
  const lines = [...outbound, `Authorization: ${authorizationTo(received[0] as SipMessage)}`];
  socket.write(register({ cseq: 2, via, lines }));
  await expect.poll(() => received).toHaveLength(2);
  // RFC 5626 §6: the phone keeps its connection open.
  expect(['require', 'flow-timer'].map((name) => header(received[1] as SipMessage, name))).toEqual([
    'outbound',
    '120',
  ]);
  const [place] = (await placesOf(api.context, user.teamId, '204')).filter(({ dial_uri }) =>
    dial_uri.includes('flow'),
  );
  if (!place) throw new Error('not registered');
  const ring = () => callAt(place);
  const invite = ring();
  await expect.poll(() => received[2]?.start).toMatchObject({ method: 'INVITE', uri: place.dial_uri });
  invite.answered.catch(() => undefined);
  invite.cancel();
  socket.destroy();
  await once(socket, 'close');
  // Signalling has seen its end once it has accepted another.
  const next = connect(signalling.sipPort, '127.0.0.1');
  next.write(register({ cseq: 3, via }));
  await once(next, 'data');
  next.destroy();
  await expect(ring().answered).rejects.toMatchObject({ status: 503 });
});

itNeeds(['baresip', 'openssl'])('a real phone registers and is called over TLS', async () => {
  const [ours, theirs] = [makeCertificate(), makeCertificate()];
  const secure = await startTestSignalling({
    tls: { port: 0, certificate: ours.certificate, key: ours.key, authorities: null },
  });
  worker.close();
  worker = await connectTestWorker(secure);
  serve();
  const device = await answerPhone(new Int16Array(0), {
    user: phone.username,
    credentials: phone,
    registrar: { address: `127.0.0.1:${secure.tlsPort}`, transport: 'tls' },
    security: { certificate: theirs.file, authority: ours.file, isMediaPlain: true },
  });
  const places = () => placesOf(api.context, user.teamId, '204');
  await expect.poll(places, { timeout: 10_000 }).toHaveLength(1);
  const [place] = await places();
  if (!place) throw new Error('not registered');
  expect(place.next_hop).toMatch(/;transport=tls$/);
  const dialog = await callAt(place).answered;
  expect(dialog.facts.remoteSdp).toContain('m=audio');
  await dialog.hangUp();
  await device.close();
  await secure.close();
  for (const certificate of [ours, theirs]) certificate.remove();
});
