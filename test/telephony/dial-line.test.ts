/** An INVITE under an account at a PBX, as that PBX receives it. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { header } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { InviteRefused, type Signalling } from '#telephony/signalling.ts';
import { contactOf, credentialsOf, type Registrar, startRegistrar } from '#test/fakes/registrar.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';

let pbx: Registrar;
let servers: EmbeddedSignalling[];
let worker: Signalling;

beforeEach(async () => {
  pbx = await startRegistrar(() => ({ status: 486 }));
  servers = [await startTestSignalling(), await startTestSignalling()];
  worker = await connectTestWorker(servers);
  await expect.poll(() => worker.servers.length).toBe(2);
});
afterEach(async () => {
  worker.close();
  for (const server of servers) await server.close();
  await pbx.close();
});

const line = (more: Record<string, unknown> = {}) => ({
  fromUser: '204',
  fromHost: 'pbx.example',
  contactPlace: null,
  nextHop: null,
  routes: ['<sip:edge.pbx.example;lr>'],
  server: worker.servers[1] ?? null,
  ...more,
});

type Credentials = { readonly username: string; readonly password: string } | null;

const call = (more: Record<string, unknown>, credentials: Credentials) =>
  worker.dial({
    toUri: 'sip:+12125550123@pbx.example',
    nextHop: `sip:${pbx.address};transport=udp`,
    fromNumber: '+4930123456',
    line: line(more),
    sdpOffer: '',
    headers: {},
    credentials,
  });

/** Dials; rejects unless the PBX is busy in the end, and returns its last INVITE. */
async function dial(more: Record<string, unknown> = {}, credentials: Credentials = null) {
  const invite = call(more, credentials);
  const error: unknown = await invite.answered.catch((refused: unknown) => refused);
  if (!(error instanceof InviteRefused) || error.status !== 486) throw error;
  return pbx.of('INVITE').at(-1)!;
}

it('comes from the account, along the routes of its registration', async () => {
  const invite = await dial();
  expect(invite.start).toMatchObject({ uri: 'sip:+12125550123@pbx.example' });
  expect(header(invite, 'from')).toMatch(/^<sip:204@pbx\.example>;tag=/);
  expect(header(invite, 'route')).toBe('<sip:edge.pbx.example;lr>');
});

it.each([1, 2, 3])('leaves through the SIP server that is registered (%i)', async () => {
  expect(contactOf(await dial())).toBe(`sip:204@127.0.0.1:${servers[1]?.sipPort}`);
});

it('names the address at which the PBX sees us behind a NAT', async () => {
  expect(contactOf(await dial({ contactPlace: '198.51.100.9:41234' }))).toBe('sip:204@198.51.100.9:41234');
});

it.each([
  ['two challenges, of which the second is MD5', ['SHA-512', 'MD5']],
  ['SHA-256 alone', ['SHA-256']],
])('proves its password to a PBX that offers %s', async (_, algorithms) => {
  pbx.use((request) => {
    if (header(request, 'authorization') !== null) return { status: 486 };
    const lines = algorithms.map(
      (algorithm) =>
        `WWW-Authenticate: Digest realm="pbx", nonce="n-${algorithm}", qop="auth", algorithm=${algorithm}`,
    );
    return { status: 401, lines };
  });
  const invite = await dial({}, { username: '204', password: 'secret' });
  const answer = credentialsOf(invite);
  expect(answer.get('algorithm')).toBe(algorithms.at(-1));
  expect(answer.get('nonce')).toBe(`n-${algorithms.at(-1)}`);
  const [first, second] = pbx.of('INVITE');
  expect(header(second!, 'call-id')).toBe(header(first!, 'call-id'));
  expect(header(second!, 'from')).toBe(header(first!, 'from'));
  expect(header(second!, 'cseq')).toBe(`${Number.parseInt(header(first!, 'cseq') ?? '', 10) + 1} INVITE`);
});

it('gives up when its password is refused', async () => {
  pbx.use((_, nth) => ({
    status: 407,
    lines: [`Proxy-Authenticate: Digest realm="pbx", nonce="n${nth}", qop="auth"`],
  }));
  await expect(dial({}, { username: '204', password: 'wrong' })).rejects.toThrow('407');
  expect(pbx.of('INVITE')).toHaveLength(2);
});

it('proves its password to a proxy and then to the PBX behind it', async () => {
  pbx.use((request) => {
    const lines = (kind: string) => [`${kind}-Authenticate: Digest realm="${kind}", nonce="n", qop="auth"`];
    if (header(request, 'proxy-authorization') === null) return { status: 407, lines: lines('Proxy') };
    return header(request, 'authorization') === null ? { status: 401, lines: lines('WWW') } : { status: 486 };
  });
  const invite = await dial({}, { username: '204', password: 'secret' });
  expect(pbx.of('INVITE').map((request) => header(request, 'cseq'))).toEqual(
    [1, 2, 3].map((number) => `${number} INVITE`),
  );
  expect(credentialsOf(invite, 'proxy-authorization').get('nc')).toBe('00000002');
  expect(credentialsOf(invite).get('nc')).toBe('00000001');
});

it('takes a refusal as one, even if it carries a challenge', async () => {
  pbx.use(() => ({ status: 403, lines: ['WWW-Authenticate: Digest realm="pbx", nonce="n", qop="auth"'] }));
  await expect(dial({}, { username: '204', password: 'secret' })).rejects.toThrow('403');
  expect(pbx.of('INVITE')).toHaveLength(1);
});

it('is cancelled by the INVITE under way, not by the one that was challenged', async () => {
  const lines = ['WWW-Authenticate: Digest realm="pbx", nonce="n", qop="auth"'];
  pbx.use((request) => {
    if (request.start.kind === 'request' && request.start.method !== 'INVITE') return { status: 200 };
    return header(request, 'authorization') === null ? { status: 401, lines } : { status: 180 };
  });
  const invite = call({}, { username: '204', password: 'secret' });
  await expect.poll(() => pbx.of('INVITE').length).toBe(2);
  invite.cancel();
  await expect.poll(() => pbx.of('CANCEL').map((request) => header(request, 'cseq'))).toEqual(['2 CANCEL']);
});
