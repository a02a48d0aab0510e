import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#config/clock.ts';
import { fault } from '#config/errors.ts';
import { createLogger } from '#config/log.ts';
import type { AdmissionAnswer, AdmissionRequest } from '#config/sip-admission.ts';
import { checkDigest, digestChallenge } from '#control-plane/calls/sip-digest.ts';
import type { Leg } from '#media/leg.ts';
import { type EmbeddedSignalling, startEmbeddedSignalling } from '#telephony/embedded/server.ts';
import { answerInboundCall, type InboundCall } from '#telephony/inbound-call.ts';
import { connectSignalling, type Signalling } from '#telephony/signalling.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { SilentMedia } from '#test/fakes/silent-media.ts';
import { runSipp, type SippResult } from '#test/fakes/sipp.ts';
import { describeNeeds } from '#test/needs.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const route: AdmissionAnswer = { action: 'route', data: { tag: 'worker-1' } };

describeNeeds(['sipp'])('inbound calls from sipp through the embedded signalling', () => {
  let server: EmbeddedSignalling;
  let worker: Signalling;
  let media: SilentMedia;
  let admit: (request: AdmissionRequest) => AdmissionAnswer | Promise<AdmissionAnswer>;
  let ready: () => Promise<{ recordAudio: boolean }>;
  let calls: InboundCall[];
  let logs: LegLog[];
  let onLeg: (leg: Leg) => void;

  beforeEach(async () => {
    admit = () => route;
    ready = async () => ({ recordAudio: false });
    calls = [];
    logs = [];
    onLeg = () => undefined;
    media = new SilentMedia(systemClock);
    server = await startEmbeddedSignalling({
      sipHost: '127.0.0.1',
      sipPort: 0,
      publicIp: undefined,
      appHost: '127.0.0.1',
      appPort: 0,
      secret: 'secret',
      takeOverMs: 300,
      clock: systemClock,
      logger,
      admit: async (request) => admit(request),
    });
    worker = await openWorker();
  });

  afterEach(async () => {
    worker.close();
    await server.close();
  });

  async function openWorker(): Promise<Signalling> {
    const signalling = await connectSignalling({ host: '127.0.0.1', port: server.appPort, secret: 'secret', tag: 'worker-1', logger });
    const deps = { clock: systemClock, media, sipHost: '127.0.0.1', sipPublicIp: undefined, random: Math.random };
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

  const expectSuccess = (result: SippResult) => expect(result.code, result.screen).toBe(0);
  /** Every leg has ended for this reason, and the server has forgotten every dialog. */
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
    await expect.poll(() => server.metrics().dialogs, { timeout: 5000 }).toBe(0);
    expect(media.open).toBe(0);
  }

  it.each([
    ['UDP', 'u1'],
    ['TCP', 't1'],
  ])('over %s: a caller who never sends a sound is connected all the same, and ending the call closes the leg as remote', async (_, transport) => {
    expectSuccess(await runSipp('caller-hangs-up', server.sipPort, ['-m', '1', '-d', '100', '-t', transport]));
    await expectAllClosed('remote', 1);
    expect(logs[0]?.all('connected')).toHaveLength(1);
    const [call] = calls;
    expect(call?.outcome === 'answered' && call.dialog).toMatchObject({
      remoteTarget: expect.stringMatching(/^sip:sipp@127/),
      localTag: expect.any(String),
    });
    expect(media.legs[0]?.remotes[0]).toMatchObject({ address: '127.0.0.1', codec: 'PCMU', digitPayloadType: 101, sending: true });
  });

  it.each([
    ['UDP', 'u1'],
    ['TCP', 't1'],
  ])('over %s: closing the leg hangs up', async (_, transport) => {
    onLeg = (leg) => leg.send({ do: 'close' });
    expectSuccess(await runSipp('agent-hangs-up', server.sipPort, ['-m', '1', '-t', transport]));
    await expectAllClosed('local', 1);
  });

  it('a caller who gives up while it rings opens no leg', async () => {
    ready = () => new Promise(() => undefined);
    expectSuccess(await runSipp('cancel', server.sipPort, ['-m', '1']));
    await expect.poll(() => calls).toEqual([{ outcome: 'cancelled' }]);
    expect(media.legs).toEqual([]);
    expect(server.metrics().dialogs).toBe(0);
  });

  it('digits by INFO are the leg’s, a hold stops its sending, and taking it up again resumes it', async () => {
    expectSuccess(await runSipp('digits-and-hold', server.sipPort, ['-m', '1']));
    await expectAllClosed('remote', 1);
    expect(logs[0]?.all('digit').map(({ digit, durationMs, source }) => ({ digit, durationMs, source }))).toEqual([
      { digit: '5', durationMs: 160, source: 'info' },
      { digit: '#', durationMs: 0, source: 'info' },
    ]);
    expect(media.legs[0]?.remotes.map((remote) => remote.sending)).toEqual([true, false, true]);
  });

  it('OPTIONS is answered by the server itself', async () => {
    expectSuccess(await runSipp('options', server.sipPort, ['-m', '1']));
  });

  it('a call that admission refuses never reaches the worker', async () => {
    admit = () => ({ action: 'reject', data: { status: 486, reason: 'Busy Here' } });
    expectSuccess(await runSipp('refused', server.sipPort, ['-m', '1']));
    expect(calls).toEqual([]);
    expect(server.metrics().refused).toBe(1);
  });

  it('a plan that does not come refuses the call with its fault’s status', async () => {
    ready = () => Promise.reject(fault('agent_not_published'));
    expectSuccess(await runSipp('refused', server.sipPort, ['-m', '1']));
    await expect.poll(() => calls).toEqual([{ outcome: 'refused', status: 486 }]);
  });

  it('a caller proves the password after a 407', async () => {
    const key = Buffer.alloc(32, 1);
    admit = (request) =>
      checkDigest(request.headers['proxy-authorization'], { username: 'trunk', password: 'correct horse' }, key, systemClock.wallTime()).isProven
        ? route
        : {
            action: 'reject',
            data: {
              status: 407,
              reason: 'Proxy Authentication Required',
              headers: { 'Proxy-Authenticate': digestChallenge(key, systemClock.wallTime()) },
            },
          };
    expectSuccess(await runSipp('digest', server.sipPort, ['-m', '1', '-au', 'trunk', '-ap', 'correct horse']));
    await expectAllClosed('remote', 1);
  });

  it('50 calls at 50 per second are all answered, and all closed', async () => {
    expectSuccess(await runSipp('caller-hangs-up', server.sipPort, ['-m', '50', '-r', '50', '-d', '200']));
    await expectAllClosed('remote', 50);
  });

  it('with every tenth packet lost, every call succeeds all the same', async () => {
    expectSuccess(await runSipp('caller-hangs-up', server.sipPort, ['-m', '20', '-r', '20', '-d', '100', '-lost', '10'], 25_000));
    expect(calls.filter((call) => call.outcome === 'answered').length).toBe(20);
  }, 30_000);

  it('a worker that dies leaves nobody on an open line: callers whom no other one takes over get a BYE', async () => {
    onLeg = () => worker.close();
    expectSuccess(await runSipp('agent-hangs-up', server.sipPort, ['-m', '1'], 5_000));
    expect(server.metrics()).toMatchObject({ dialogs: 0, dialogsLost: 1 });
  });
});
