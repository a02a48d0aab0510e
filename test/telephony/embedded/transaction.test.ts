import { beforeEach, describe, expect, it } from 'vitest';
import type { SipMessage } from '#telephony/embedded/message.ts';
import { ClientTransaction, ServerTransaction } from '#telephony/embedded/transaction.ts';
import type { Peer } from '#telephony/embedded/transport.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

const message: SipMessage = {
  start: { kind: 'request', method: 'INVITE', uri: 'sip:a@b' },
  headers: [],
  body: '',
};
const peer = (transport: 'udp' | 'tcp'): Peer => ({ transport, address: '127.0.0.1', port: 5090 });

describe('transactions (RFC 3261 §17)', () => {
  let clock: ManualClock;
  let sent: { text: string; atMs: number }[];
  let calls: string[];
  const times = (text: string) => sent.filter((entry) => entry.text === text).map((entry) => entry.atMs);
  const deps = () => ({ clock, send: (text: string) => void sent.push({ text, atMs: clock.now() }) });

  beforeEach(() => {
    clock = new ManualClock();
    sent = [];
    calls = [];
  });

  const server = (method: string, transport: 'udp' | 'tcp' = 'udp') =>
    new ServerTransaction(
      deps(),
      { key: 'k', message, method, peer: peer(transport) },
      {
        onAckTimeout: () => calls.push('no ack'),
        onPrackTimeout: () => calls.push('no prack'),
        onUnanswered: () => calls.push('unanswered'),
        onDone: () => calls.push('done'),
      },
    );
  const client = (method: string, transport: 'udp' | 'tcp' = 'udp') => {
    const transaction = new ClientTransaction(
      deps(),
      { key: 'k', message, text: 'request', method, peer: peer(transport) },
      {
        onFailed: (status) => calls.push(status === 408 ? 'timeout' : 'unreachable'),
        onDone: () => calls.push('done'),
      },
    );
    transaction.start();
    return transaction;
  };

  it.each(['udp', 'tcp'] as const)(
    '§13.3.1.4 a 2xx over %s is retransmitted at growing intervals until its ACK',
    async (transport) => {
      const transaction = server('INVITE', transport);
      transaction.respond(200, 'ok');
      await clock.advance(8_000);
      expect(times('ok')).toEqual([0, 500, 1_500, 3_500, 7_500]);
      transaction.acknowledge();
      await clock.advance(60_000);
      expect(times('ok')).toHaveLength(5);
      expect(calls).toEqual(['done']);
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('§13.3.1.4 an unacknowledged 2xx is abandoned after 32 s, once', async () => {
    server('INVITE').respond(200, 'ok');
    await clock.advance(31_999);
    expect(calls).toEqual([]);
    await clock.advance(60_000);
    expect(calls).toEqual(['no ack', 'done']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('§17.2.1 a refusal repeats over UDP until its ACK, never over TCP; a missing ACK is not reported', async () => {
    server('INVITE', 'udp').respond(486, 'busy udp');
    server('INVITE', 'tcp').respond(486, 'busy tcp');
    await clock.advance(40_000);
    expect(times('busy udp').length).toBeGreaterThan(5);
    expect(times('busy tcp')).toEqual([0]);
    expect(calls).toEqual(['done', 'done']);
  });

  it('§17.2.2 a retransmitted request gets the last response, and no second final one is sent', async () => {
    const transaction = server('INFO');
    transaction.receiveAgain();
    expect(sent).toEqual([]);
    transaction.respond(200, 'ok');
    transaction.respond(500, 'error');
    transaction.receiveAgain();
    expect(sent.map((entry) => entry.text)).toEqual(['ok', 'ok']);
    expect(transaction.status).toBe(200);
    await clock.advance(32_000);
    expect(calls).toEqual(['done']);
  });

  it('§17.1.1.2 an INVITE doubles its wait, stops at a provisional response, and may then ring long', async () => {
    const transaction = client('INVITE');
    await clock.advance(4_000);
    expect(times('request')).toEqual([0, 500, 1_500, 3_500]);
    expect(transaction.receive(180)).toBe(true);
    await clock.advance(120_000);
    expect(times('request')).toHaveLength(4);
    expect(calls).toEqual([]);
  });

  it('§17.1.2.2 other requests wait 4 s at most, and time out after 32 s', async () => {
    client('BYE');
    await clock.advance(32_000);
    expect(times('request').slice(0, 6)).toEqual([0, 500, 1_500, 3_500, 7_500, 11_500]);
    expect(calls).toEqual(['timeout']);
    await clock.advance(60_000);
    expect(calls).toEqual(['timeout', 'done']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('nothing is retransmitted over TCP', async () => {
    client('BYE', 'tcp');
    await clock.advance(32_000);
    expect(times('request')).toEqual([0]);
    expect(calls).toEqual(['timeout']);
  });

  it('§13.2.2.4 a retransmitted final response gets the stored ACK and is not reported again', async () => {
    const transaction = client('INVITE');
    expect(transaction.receive(200)).toBe(true);
    transaction.acknowledge('ack');
    expect(transaction.receive(200)).toBe(false);
    expect(transaction.receive(200)).toBe(false);
    expect(times('ack')).toHaveLength(3);
  });

  it('§9.1 a CANCEL waits for a provisional response, and is not sent after a final one', () => {
    const ringing = client('INVITE');
    ringing.whenProceeding(() => calls.push('cancel'));
    expect(calls).toEqual([]);
    ringing.receive(180);
    expect(calls).toEqual(['cancel']);
    const answered = client('INVITE');
    answered.receive(486);
    answered.whenProceeding(() => calls.push('late'));
    expect(calls).toEqual(['cancel']);
  });
});
