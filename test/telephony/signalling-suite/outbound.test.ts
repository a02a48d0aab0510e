import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { dialOutboundCall, type OutboundCall } from '#telephony/outbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { type ReferOutcome, referCall } from '#telephony/transfer.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { SilentMedia } from '#test/fakes/silent-media.ts';
import { type PhoneManner, type SippPhone, startSippPhone } from '#test/fakes/sipp-phone.ts';
import { connectWorker, describeServers, expectDialogs, type SuiteServer } from './servers.ts';

describeServers(['sipp'], 'an outbound call', (start) => {
  let server: SuiteServer;
  let worker: Signalling;
  let media: SilentMedia;
  let phone: SippPhone;
  let abort: AbortController;

  beforeEach(async () => {
    media = new SilentMedia(systemClock);
    abort = new AbortController();
    server = await start();
    worker = await connectWorker(server);
  });
  afterEach(async () => {
    worker.close();
    await server.close();
  });

  async function dial(
    manner: PhoneManner,
    over: { ringMs?: number; password?: string } = {},
  ): Promise<OutboundCall> {
    phone = await startSippPhone(manner);
    const deps = {
      clock: systemClock,
      media,
      signalling: worker,
      sipHost: '127.0.0.1',
      sipPublicIp: undefined,
      random: Math.random,
    };
    return dialOutboundCall(
      deps,
      {
        toUri: `sip:+14155550123@${phone.address}`,
        fromNumber: '+15550100001',
        headers: { 'X-Service-Session-Id': 'abc123' },
        credentials: { username: 'parley', password: over.password ?? 'secret' },
        recording: null,
        ringMs: over.ringMs ?? 10_000,
      },
      abort.signal,
    );
  }

  async function expectEnded(): Promise<void> {
    const { code, screen } = await phone.ended;
    expect(code, screen).toBe(0);
    await expectDialogs(server, 0);
    expect(media.open).toBe(0);
  }

  it.each([undefined, 401, 407] as const)(
    'is answered (challenge %s), sends to the address in the answer at once, and hangs up',
    async (digest) => {
      const call = await dial({ does: 'answer', ...(digest ? { digest } : {}) });
      if (call.outcome !== 'answered') throw new Error(call.outcome);
      expect(media.legs[0]?.remotes).toMatchObject([{ address: '127.0.0.1', codec: 'PCMU', sending: true }]);
      const log = new LegLog(call.leg);
      await log.next('connected');
      call.leg.send({ do: 'close' });
      expect((await log.next('closed')).reason).toBe('local');
      await expectEnded();
    },
  );

  it('ends when the callee hangs up', async () => {
    const call = await dial({ does: 'hangUp', afterMs: 50 });
    if (call.outcome !== 'answered') throw new Error(call.outcome);
    expect((await new LegLog(call.leg).next('closed')).reason).toBe('remote');
    await expectEnded();
  });

  it.each([
    [486, 'busy'],
    [600, 'busy'],
    [408, 'no_answer'],
    [480, 'no_answer'],
    // Redirects are not followed.
    [302, 'failed'],
    [404, 'failed'],
    [503, 'failed'],
    [603, 'failed'],
  ])('has for the answer %i the outcome %s', async (status, outcome) => {
    expect((await dial({ does: 'refuse', status })).outcome).toBe(outcome);
    await expectEnded();
  });

  it.each<[string, PhoneManner, ReferOutcome]>([
    [
      'accepted, and rung through',
      { does: 'refer', to: '15550142', status: 202, notifies: [100, 180, 200] },
      { is: 'transferred' },
    ],
    [
      'accepted, and busy',
      { does: 'refer', to: '15550142', status: 202, notifies: [100, 486] },
      { is: 'failed', status: 486 },
    ],
    [
      'not taken',
      { does: 'refer', to: '15550142', status: 405, notifies: [] },
      { is: 'refused', status: 405 },
    ],
  ])('is handed over by a REFER that is %s (RFC 3515)', async (_, manner, outcome) => {
    const call = await dial(manner);
    if (call.outcome !== 'answered') throw new Error(call.outcome);
    const request = {
      target: 'sip:+15550142@127.0.0.1:9',
      headers: { 'X-Notes': 'wants a refund' },
      credentials: null,
    };
    expect(await referCall({ clock: systemClock, refer: call.refer }, request)).toEqual(outcome);
    call.leg.send({ do: 'close' });
    await expectEnded();
  });

  it('plays early media before the answer, separate from the call, and continues with the answer', async () => {
    const call = await dial({ does: 'earlyMedia', ringMs: 300 });
    if (call.outcome !== 'answered') throw new Error(call.outcome);
    expect(
      media.legs[0]?.commands
        .filter((command) => command.do === 'setRemote')
        .map((command) => command.isEarly === true),
    ).toEqual([true, false]);
    call.leg.send({ do: 'close' });
    await expectEnded();
  });

  it('is cancelled as not answered if it rings too long', async () => {
    expect((await dial({ does: 'ring' }, { ringMs: 1_500 })).outcome).toBe('no_answer');
    await expectEnded();
  });

  it('is cancelled when it is abandoned while ringing', async () => {
    const call = dial({ does: 'ring' });
    await systemClock.sleep(1_500);
    abort.abort();
    expect((await call).outcome).toBe('cancelled');
    await expectEnded();
  });

  it('is hung up if it is abandoned at the moment of the answer (RFC 3261 §9.1)', async () => {
    // Rings long enough for sipp to wait for the CANCEL; it accepts one at no other time.
    expect((await dial({ does: 'answerTooLate' }, { ringMs: 3_000 })).outcome).toBe('no_answer');
    await expectEnded();
  });

  it('fails and is hung up if it is answered with unsupported audio', async () => {
    expect((await dial({ does: 'answerBadly' })).outcome).toBe('failed');
    await expectEnded();
  });

  it('fails without a connection to signalling', async () => {
    worker.close();
    const deps = {
      clock: systemClock,
      media,
      signalling: worker,
      sipHost: '127.0.0.1',
      sipPublicIp: undefined,
      random: Math.random,
    };
    const request = {
      toUri: 'sip:+1@127.0.0.1:9',
      fromNumber: '+1',
      headers: {},
      credentials: null,
      recording: null,
      ringMs: 2_000,
    };
    expect((await dialOutboundCall(deps, request, abort.signal)).outcome).toBe('failed');
    expect(media.open).toBe(0);
  });
});
