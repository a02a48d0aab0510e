/** An INVITE under an account at a PBX, as that PBX receives it. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { header } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { contactOf, type Registrar, startRegistrar } from '#test/fakes/registrar.ts';
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

async function dial(more: Record<string, unknown> = {}) {
  const invite = worker.dial({
    toUri: 'sip:+12125550123@pbx.example',
    nextHop: `sip:${pbx.address};transport=udp`,
    fromNumber: '+4930123456',
    line: line(more),
    sdpOffer: '',
    headers: {},
    credentials: null,
  });
  await expect(invite.answered).rejects.toThrow('486');
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
