/** A registrar over TCP: it calls on the connection on which the account has registered. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AdmissionRequest } from '#protocol/sip-admission.ts';
import { header, headerList, parseMessage, type SipMessage, uriOf } from '#telephony/embedded/message.ts';
import { MessageStream } from '#telephony/embedded/message-stream.ts';
import { openRegistrationBench, type RegistrationBench } from './registration-bench.ts';

let bench: RegistrationBench;
let pbx: Server;
let connections: Socket[];
let heard: SipMessage[];
let questions: AdmissionRequest[];

beforeEach(async () => {
  [connections, heard, questions] = [[], [], []];
  pbx = createServer((socket) => {
    const stream = new MessageStream();
    connections.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      for (const { text } of stream.take(chunk)) answer(socket, text);
    });
  }).listen(0, '127.0.0.1');
  await once(pbx, 'listening');
  bench = await openRegistrationBench({
    admit: async (question) => {
      questions.push(question);
      return { action: 'reject', data: { status: 486, reason: 'Busy Here' } };
    },
  });
});
afterEach(async () => {
  await bench.close();
  for (const socket of connections) socket.destroy();
  pbx.close();
});

/** Accepts whatever is asked. */
function answer(socket: Socket, text: string): void {
  const message = parseMessage(text);
  if (!message) return;
  heard.push(message);
  if (message.start.kind !== 'request' || message.start.method === 'ACK') return;
  const same = (name: string) => header(message, name.toLowerCase()) ?? '';
  const via = same('Via').replace(';rport', `;rport=${socket.remotePort};received=127.0.0.1`);
  socket.write(
    [
      'SIP/2.0 200 OK',
      `Via: ${via}`,
      `From: ${same('From')}`,
      `To: ${same('To')};tag=pbx`,
      `Call-ID: ${same('Call-ID')}`,
      `CSeq: ${same('CSeq')}`,
      `Contact: ${same('Contact')}`,
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
  );
}

const register = () =>
  bench.register({
    registrar: `127.0.0.1:${(pbx.address() as AddressInfo).port}`,
    username: '204',
    password: 'secret',
    transport: 'tcp',
    keep_alive_seconds: 10,
  });

it('is registered with the listening address and TCP, and one connection', async () => {
  const { contact, state } = await register();
  expect(state).toBe('registered');
  expect(contact).toMatch(new RegExp(`:${bench.signalling.sipPort};transport=tcp$`));
  await bench.pass(11_000);
  expect(heard.map(({ start }) => start.kind === 'request' && start.method)).toEqual(['REGISTER', 'OPTIONS']);
  expect(connections).toHaveLength(1);
});

it('calls on that connection', async () => {
  await register();
  const target = uriOf(headerList(heard[0]!, 'contact')[0] ?? '');
  connections[0]?.write(
    [
      `INVITE ${target} SIP/2.0`,
      'Via: SIP/2.0/TCP 127.0.0.1:5060;branch=z9hG4bKcall',
      'Max-Forwards: 70',
      'From: <sip:201@pbx.example>;tag=phone',
      `To: <${target}>`,
      'Call-ID: call-1',
      'CSeq: 1 INVITE',
      'Contact: <sip:201@127.0.0.1:5060;transport=tcp>',
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
  );
  const isBusy = () => heard.some(({ start }) => start.kind === 'response' && start.status === 486);
  await expect.poll(isBusy).toBe(true);
  expect(questions).toMatchObject([{ to_user: /^sip:([0-9a-f]+)@/.exec(target)?.[1], transport: 'tcp' }]);
});

it('that has lost the connection is registered at again with its next sign of life', async () => {
  await register();
  connections[0]?.destroy();
  await expect.poll(() => connections[0]?.destroyed).toBe(true);
  for (let tick = 0; tick < 13; tick++) await bench.pass(1_000);
  const methods = heard.map(({ start }) => start.kind === 'request' && start.method);
  expect(methods).toEqual(['REGISTER', 'OPTIONS', 'REGISTER']);
});
