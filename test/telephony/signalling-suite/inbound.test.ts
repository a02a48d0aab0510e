import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { fault } from '#config/errors.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { AdmissionAnswer, AdmissionRequest } from '#protocol/sip-admission.ts';
import { answerInboundCall, type InboundCall } from '#telephony/inbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { openLink } from '#test/fakes/link.ts';
import { SilentMedia } from '#test/fakes/silent-media.ts';
import { runSipp, runSippSteps, type SippResult } from '#test/fakes/sipp.ts';
import { audioAt, expectResponse, send } from '../sipp-steps.ts';
import { connectWorker, describeServers, expectDialogs, type SuiteServer } from './servers.ts';

const route: AdmissionAnswer = { action: 'route', data: { tag: 'worker-1' } };

describeServers(['sipp'], 'inbound calls from sipp', (start, beyond) => {
  let server: SuiteServer;
  let worker: Signalling;
  let media: SilentMedia;
  let admit: (request: AdmissionRequest) => AdmissionAnswer | Promise<AdmissionAnswer>;
  let asked: AdmissionRequest[];
  let ready: () => Promise<{ recordAudio: boolean }>;
  let calls: InboundCall[];
  let logs: LegLog[];
  let onLeg: (leg: Leg) => void;

  beforeEach(async () => {
    asked = [];
    admit = () => route;
    ready = async () => ({ recordAudio: false });
    calls = [];
    logs = [];
    onLeg = () => undefined;
    media = new SilentMedia(systemClock);
    server = await start(async (request) => {
      asked.push(request);
      return admit(request);
    });
    worker = await openWorker();
  });

  afterEach(async () => {
    worker.close();
    await server.close();
  });

  async function openWorker(): Promise<Signalling> {
    const signalling = await connectWorker(server);
    const deps = {
      clock: systemClock,
      media,
      sipHost: '127.0.0.1',
      sipPublicIp: undefined,
      random: Math.random,
    };
    signalling.onInvite((invite) => {
      void answerInboundCall(deps, invite, ready()).then((call) => {
        calls.push(call);
        if (call.outcome !== 'answered') return;
        logs.push(new LegLog(call.leg));
        onLeg(call.leg);
      });
    });
    return signalling;
  }

  /** The caller acknowledges the answer and hangs up. */
  const talked = [send('ACK', { cseq: 1 }), send('BYE', { cseq: 2 }), expectResponse(200)];
  const expectSuccess = (result: SippResult) => expect(result.code, result.screen).toBe(0);
  /** Expects that all legs ended for this reason, and that no dialog remains on the server. */
  async function expectAllClosed(reason: 'local' | 'remote', count: number): Promise<void> {
    await expect
      .poll(
        () =>
          logs.map((log) =>
            log
              .all('closed')
              .map((event) => event.reason)
              .join(),
          ),
        { timeout: 5000 },
      )
      .toEqual(Array(count).fill(reason));
    await expectDialogs(server, 0);
    expect(media.open).toBe(0);
  }

  it.each([
    ['UDP', 'u1'],
    ['TCP', 't1'],
  ])(
    'a caller over %s who sends no audio is connected, and hanging up closes the leg as remote',
    async (_, transport) => {
      expectSuccess(
        await runSipp('caller-hangs-up', server.sipPort, ['-m', '1', '-d', '100', '-t', transport]),
      );
      await expectAllClosed('remote', 1);
      expect(logs[0]?.all('connected')).toHaveLength(1);
      const [call] = calls;
      expect(call?.outcome === 'answered' && call.dialog).toMatchObject({
        remoteTarget: expect.stringMatching(/^sip:sipp@127/),
        localTag: expect.any(String),
      });
      expect(media.legs[0]?.remotes[0]).toMatchObject({
        address: '127.0.0.1',
        codec: 'PCMU',
        digitPayloadType: 101,
        sending: true,
      });
    },
  );

  it.each([
    ['UDP', 'u1'],
    ['TCP', 't1'],
  ])('a leg over %s that closes hangs up', async (_, transport) => {
    onLeg = (leg) => leg.send({ do: 'close' });
    expectSuccess(await runSipp('agent-hangs-up', server.sipPort, ['-m', '1', '-t', transport]));
    await expectAllClosed('local', 1);
  });

  it('a caller who cancels while it rings opens no leg', async () => {
    ready = () => new Promise(() => undefined);
    expectSuccess(await runSipp('cancel', server.sipPort, ['-m', '1']));
    await expect.poll(() => calls).toEqual([{ outcome: 'cancelled' }]);
    expect(media.legs).toEqual([]);
    await expectDialogs(server, 0);
  });

  it('a caller who cancels before the 100 opens no leg either', async () => {
    ready = () => new Promise(() => undefined);
    const branch = 'z9hG4bK-early';
    const steps = [
      send('INVITE', { cseq: 1, branch, sdp: audioAt(4_000), isHasty: true }),
      send('CANCEL', { cseq: 1, branch, isFirst: true }),
      expectResponse(200, ['CSeq: 1 CANCEL']),
      expectResponse(487, ['CSeq: 1 INVITE']),
      send('ACK', { cseq: 1, branch }),
    ];
    expectSuccess(await runSippSteps(steps, server.sipPort));
    await expect.poll(() => calls, { timeout: 5000 }).toEqual([{ outcome: 'cancelled' }]);
    expect(media.legs).toEqual([]);
    await expectDialogs(server, 0);
  });

  beyond(
    'a CANCEL that crosses the answer changes nothing, and comes from the same one (RFC 3261 §9.2)',
    async () => {
      const branch = 'z9hG4bK-crossed';
      const steps = [
        send('INVITE', { cseq: 1, branch, sdp: audioAt(4_000) }),
        expectResponse(200, ['CSeq: 1 INVITE']),
        send('CANCEL', { cseq: 1, branch, isFirst: true }),
        // The ACK and the BYE use this response's tag from here on.
        expectResponse(200, ['CSeq: 1 CANCEL']),
        ...talked,
      ];
      expectSuccess(await runSippSteps(steps, server.sipPort));
      await expectAllClosed('remote', 1);
    },
  );

  it('an INVITE of more than 8 KB in several TCP segments is read completely', async () => {
    const long = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`x-account-${index}`, `${index} für ${'ü'.repeat(400)}`]),
    );
    const lines = Object.entries(long).map(([name, value]) => `${name}: ${value}`);
    const link = await openLink(server.sipPort, { pieceBytes: 101 });
    try {
      const steps = [send('INVITE', { cseq: 1, sdp: audioAt(4_000), lines }), expectResponse(200), ...talked];
      expectSuccess(await runSippSteps(steps, link.port, ['-t', 't1']));
      expect(asked).toMatchObject([{ transport: 'tcp', headers: long }]);
      await expectAllClosed('remote', 1);
    } finally {
      await link.close();
    }
  });

  it('admission of a caller without a number gets all the carrier’s information about them', async () => {
    const headers = {
      'p-asserted-identity': '"Jo" <sip:+14155550123@carrier.example>',
      privacy: 'id',
      diversion: '<sip:+14155550199@carrier.example>;reason=unconditional',
      'x-twilio-callsid': 'CA0123456789',
    };
    const lines = [
      'User-Agent: sipp',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ];
    const invite = send('INVITE', {
      cseq: 1,
      sdp: audioAt(4_000),
      from: '"Anonymous" <sip:anonymous@anonymous.invalid>',
      lines,
    });
    expectSuccess(await runSippSteps([invite, expectResponse(200), ...talked], server.sipPort));
    expect(asked).toMatchObject([
      {
        call_id: expect.any(String),
        from_user: 'anonymous',
        to_user: '+15550100',
        source_address: '127.0.0.1',
        transport: 'udp',
      },
    ]);
    expect(asked[0]?.headers).toEqual(headers);
    await expectAllClosed('remote', 1);
  });

  it('INFO digits reach the leg, a hold stops its sending, and resuming restarts it', async () => {
    expectSuccess(await runSipp('digits-and-hold', server.sipPort, ['-m', '1']));
    await expectAllClosed('remote', 1);
    expect(
      logs[0]?.all('digit').map(({ digit, durationMs, source }) => ({ digit, durationMs, source })),
    ).toEqual([
      { digit: '5', durationMs: 160, source: 'info' },
      { digit: '#', durationMs: 0, source: 'info' },
    ]);
    expect(media.legs[0]?.remotes.map((remote) => remote.sending)).toEqual([true, false, true]);
  });

  it('OPTIONS is answered', async () => {
    expectSuccess(await runSipp('options', server.sipPort, ['-m', '1']));
  });

  it('a call rejected by admission never reaches the worker', async () => {
    admit = () => ({ action: 'reject', data: { status: 486, reason: 'Busy Here' } });
    expectSuccess(await runSipp('refused', server.sipPort, ['-m', '1']));
    expect(calls).toEqual([]);
  });

  it('a call without a plan is rejected with the status of the fault', async () => {
    ready = () => Promise.reject(fault('agent_not_published'));
    expectSuccess(await runSipp('refused', server.sipPort, ['-m', '1']));
    await expect.poll(() => calls).toEqual([{ outcome: 'refused', status: 486 }]);
  });

  it('50 calls at 50 per second are all answered and closed', async () => {
    expectSuccess(await runSipp('caller-hangs-up', server.sipPort, ['-m', '50', '-r', '50', '-d', '200']));
    await expectAllClosed('remote', 50);
  });

  it('all calls succeed although every tenth packet is lost', async () => {
    expectSuccess(
      await runSipp(
        'caller-hangs-up',
        server.sipPort,
        ['-m', '20', '-r', '20', '-d', '100', '-lost', '10'],
        25_000,
      ),
    );
    expect(calls.filter((call) => call.outcome === 'answered').length).toBe(20);
  }, 30_000);
});
