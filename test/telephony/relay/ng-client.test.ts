import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createNgClient, type NgClient, NgRefused, NgSilent } from '#telephony/relay/ng-client.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

let relay: Socket;
let clock: ManualClock;
let client: NgClient;
/** Datagrams sent to the relay, verbatim. */
let asked: string[];
/** The relay's answer to the request with this cookie; null for silence. */
let answer: (cookie: string) => string | Uint8Array | null;

beforeEach(async () => {
  asked = [];
  answer = () => null;
  relay = createSocket('udp4');
  relay.on('message', (datagram, { port }) => {
    asked.push(datagram.toString());
    const said = answer(datagram.toString().split(' ')[0] ?? '');
    if (said !== null) relay.send(said, port, '127.0.0.1');
  });
  relay.bind(0, '127.0.0.1');
  await once(relay, 'listening');
  clock = new ManualClock();
  let count = 0;
  client = createNgClient(
    { host: '127.0.0.1', port: relay.address().port },
    { clock, cookie: () => `cookie-${++count}` },
  );
});
afterEach(() => {
  client.close();
  relay.close();
});

/** Lets the client's timeouts elapse and waits for each try to arrive. */
async function outwait(tries: number): Promise<void> {
  for (let count = 1; count <= tries; count++) {
    await expect.poll(() => asked.length).toBe(count);
    await clock.advance(250);
  }
}

it('a command and its answer are each a cookie and a bencoded dictionary', async () => {
  answer = (cookie) => `${cookie} d6:result2:ok3:sdp5:v=0\r\ne`;
  expect(
    await client.ask({ command: 'offer', 'call-id': 'one', 'delete-delay': 0, flags: ['strict-source'] }),
  ).toEqual({
    result: 'ok',
    sdp: 'v=0\r\n',
  });
  // Keys in order, as bencode requires.
  expect(asked[0]).toBe(
    'cookie-1 d7:call-id3:one7:command5:offer12:delete-delayi0e5:flagsl13:strict-sourceee',
  );
});

it('an unanswered command is repeated unchanged, so that it takes effect once', async () => {
  const answered = client.ask({ command: 'ping' });
  await outwait(2);
  await expect.poll(() => asked.length).toBe(3);
  answer = (cookie) => `${cookie} d6:result4:ponge`;
  await clock.advance(250);
  expect(await answered).toEqual({ result: 'pong' });
  expect(new Set(asked).size).toBe(1);
});

it('a silent relay is abandoned after five tries', async () => {
  const answered = client.ask({ command: 'ping' });
  answered.catch(() => undefined);
  await outwait(5);
  await expect(answered).rejects.toThrow(NgSilent);
  await expect(answered).rejects.toThrow(`rtpengine at ${client.name} does not answer`);
});

it('a relay’s refusal is reported in its own words', async () => {
  answer = (cookie) => `${cookie} d6:result5:error12:error-reason12:Unknown calle`;
  await expect(client.ask({ command: 'answer', 'call-id': 'one' })).rejects.toThrow(
    new NgRefused('rtpengine: Unknown call'),
  );
});

it.each([
  ['nothing behind the cookie', ''],
  ['no bencode', '<html>'],
  ['bencode that breaks off', 'd6:result2:o'],
  ['no dictionary', 'i7e'],
  ['no result', 'd3:sdp3:v=0e'],
  ['a description that is none', 'd6:result2:ok3:sdpi7ee'],
])('an answer of %s fails only its own request', async (_, body) => {
  answer = (cookie) => `${cookie} ${body}`;
  await expect(client.ask({ command: 'ping' })).rejects.toThrow();
  answer = (cookie) => `${cookie} d6:result4:ponge`;
  expect(await client.ask({ command: 'ping' })).toEqual({ result: 'pong' });
});

it.each([
  ['nothing behind the cookie', ''],
  ['no bencode', '\u0000\u00ff garbage'],
  ['a list', 'l6:result2:oke'],
  ['a text that breaks off', 'd6:result99:oke'],
  ['a length no text has', 'd6:result999999999:oke'],
  ['a dictionary that breaks off', 'd6:result2:ok'],
  ['lists a thousand deep', `d1:a${'l'.repeat(1_000)}${'e'.repeat(1_000)}6:result2:oke`],
  ['a number that is none', 'd6:resulti1xee'],
  ['a result that is no text', 'd6:resulti1ee'],
  ['a result as long as a datagram', `d6:result60000:${'x'.repeat(60_000)}e`],
  ['a description that is no text', 'd6:result2:ok3:sdpld1:a1:beee'],
  ['two dictionaries', 'd6:result2:oked6:result2:oke'],
])('a hostile answer is rejected, and the next one is accepted: %s', async (_, said) => {
  answer = (cookie) => `${cookie} ${said}`;
  await expect(client.ask({ command: 'offer', 'call-id': 'one' })).rejects.toThrow();
  answer = (cookie) => `${cookie} d6:result4:ponge`;
  expect(await client.ask({ command: 'ping' })).toEqual({ result: 'pong' });
});

it('a refusal from a hostile relay is quoted with at most 200 characters', async () => {
  answer = (cookie) => `${cookie} d12:error-reason50000:${'x'.repeat(50_000)}6:result5:errore`;
  await expect(client.ask({ command: 'offer', 'call-id': 'one' })).rejects.toThrow(/^rtpengine: x{200}$/);
});

it('an answer without a request is ignored', async () => {
  answer = () => 'cookie-99 d6:result2:ok3:sdp3:bade';
  const answered = client.ask({ command: 'ping' });
  await expect.poll(() => asked.length).toBe(1);
  answer = (cookie) => `${cookie} d6:result4:ponge`;
  await clock.advance(250);
  expect(await answered).toEqual({ result: 'pong' });
});

it('pending requests fail when the client is closed', async () => {
  const answered = client.ask({ command: 'ping' });
  client.close();
  await expect(answered).rejects.toThrow(NgSilent);
});

it('a relay that was silent is asked again, and answers once it is back', async () => {
  const { port } = relay.address();
  relay.close();
  const answered = client.ask({ command: 'ping' });
  answered.catch(() => undefined);
  for (let tries = 0; tries < 5; tries++) await clock.advance(250);
  await expect(answered).rejects.toThrow(NgSilent);
  relay = createSocket('udp4');
  relay.on('message', (datagram, from) =>
    relay.send(`${datagram.toString().split(' ')[0]} d6:result4:ponge`, from.port, '127.0.0.1'),
  );
  relay.bind(port, '127.0.0.1');
  await once(relay, 'listening');
  expect(await client.ask({ command: 'ping' })).toEqual({ result: 'pong' });
});
