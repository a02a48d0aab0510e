import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#config/clock.ts';
import type { AdmissionAnswer, AdmissionRequest } from '#config/sip-admission.ts';
import { checkDigest, digestChallenge } from '#control-plane/calls/sip-digest.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { runSipp } from '#test/fakes/sipp.ts';
import { startSippPhone } from '#test/fakes/sipp-phone.ts';
import { describeNeeds } from '#test/needs.ts';

const sdp = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';
const route: AdmissionAnswer = { action: 'route', data: { tag: 'worker-1' } };

/** What drachtio-server leaves to others (docs/drachtio.md). */
describeNeeds(['sipp'])('what the embedded server does beyond drachtio-server', () => {
  let server: EmbeddedSignalling;
  let worker: Signalling;
  let admit: (request: AdmissionRequest) => AdmissionAnswer;

  beforeEach(async () => {
    admit = () => route;
    server = await startTestSignalling({
      takeOverMs: 300,
      admit: async (request) => admit(request),
    });
    worker = await connectTestWorker(server);
  });
  afterEach(async () => {
    worker.close();
    await server.close();
  });

  it('a caller proves the password after a 407', async () => {
    const key = Buffer.alloc(32, 1);
    const now = () => systemClock.wallTime();
    const isProven = ({ headers }: AdmissionRequest) =>
      checkDigest(headers['proxy-authorization'], { username: 'trunk', password: 'correct horse' }, key, now()).isProven;
    const challenge = (): AdmissionAnswer => ({
      action: 'reject',
      data: { status: 407, reason: 'Proxy Authentication Required', headers: { 'Proxy-Authenticate': digestChallenge(key, now()) } },
    });
    admit = (request) => (isProven(request) ? route : challenge());
    let ended = 0;
    worker.onInvite((invite) => {
      void invite.answer(sdp).then((dialog) => {
        dialog.listen({ onEnded: () => (ended += 1), onOffer: () => null, makeOffer: () => sdp, onAnswer: () => undefined, onInfo: () => undefined });
      });
    });
    const { code, screen } = await runSipp('digest', server.sipPort, ['-m', '1', '-au', 'trunk', '-ap', 'correct horse']);
    expect(code, screen).toBe(0);
    await expect.poll(() => ended, { timeout: 10_000 }).toBe(1);
    expect(server.metrics()).toMatchObject({ dialogs: 0, refused: 1 });
  });

  it('a worker that dies leaves nobody on an open line: callers whom no other one takes over get a BYE', async () => {
    worker.onInvite((invite) => void invite.answer(sdp).then(() => worker.close()));
    const { code, screen } = await runSipp('agent-hangs-up', server.sipPort, ['-m', '1']);
    expect(code, screen).toBe(0);
    expect(server.metrics()).toMatchObject({ dialogs: 0, dialogsLost: 1 });
  });

  it.each([
    ['rings no more', 'ring'],
    ['that answers in this very moment is hung up on', 'answerTooLate'],
  ] as const)('a worker that dies leaves nobody ringing: a phone it had called %s', async (_, does) => {
    const phone = await startSippPhone({ does });
    const invite = worker.dial({
      ...{ toUri: `sip:+4930123456@${phone.address}`, fromNumber: '+15550100001', sdpOffer: sdp },
      ...{ headers: { 'X-Service-Session-Id': 's1' }, credentials: null },
    });
    invite.answered.catch(() => undefined);
    // It rings.
    await expect.poll(() => server.metrics().dialogs, { timeout: 10_000 }).toBe(1);
    worker.close();
    const { code, screen } = await phone.ended;
    expect(code, screen).toBe(0);
    await expect.poll(() => server.metrics().dialogs, { timeout: 10_000 }).toBe(0);
  });
});
