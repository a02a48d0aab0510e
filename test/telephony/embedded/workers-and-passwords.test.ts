import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import {
  checkDigest,
  type DigestAlgorithm,
  digestChallenges,
  digestSecrets,
} from '#control-plane/catalogue/numbers/sip-digest.ts';
import type { AdmissionAnswer, AdmissionRequest } from '#protocol/sip-admission.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { dial } from '#test/fakes/baresip.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { runSipp } from '#test/fakes/sipp.ts';
import { startSippPhone } from '#test/fakes/sipp-phone.ts';
import { describeNeeds } from '#test/needs.ts';

const sdp =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';
const route: AdmissionAnswer = { action: 'route', data: { tag: 'worker-1' } };

const PASSWORD = { username: 'trunk', password: 'correct-horse' };
const PROOF = { username: 'trunk', secrets: digestSecrets('trunk', 'correct-horse') };

/** Features that drachtio-server lacks (docs/drachtio.md). */
describeNeeds(['sipp', 'baresip'])('with the embedded server', () => {
  let server: EmbeddedSignalling;
  let worker: Signalling;
  let admit: (request: AdmissionRequest) => AdmissionAnswer;

  beforeEach(async () => {
    admit = () => route;
    server = await startTestSignalling({
      failoverMs: 300,
      admit: async (request) => admit(request),
    });
    worker = await connectTestWorker(server);
  });
  afterEach(async () => {
    worker.close();
    await server.close();
  });

  it('a caller authenticates after a 407', async () => {
    admit = asksForPassword(['MD5', 'SHA-256']);
    let ended = 0;
    worker.onInvite((invite) => {
      void invite.answer(sdp).then((dialog) => {
        dialog.listen({
          onEnded: () => (ended += 1),
          onOffer: () => null,
          makeOffer: () => sdp,
          onAnswer: () => undefined,
          onInfo: () => undefined,
        });
      });
    });
    const { code, screen } = await runSipp('digest', server.sipPort, [
      '-m',
      '1',
      '-au',
      'trunk',
      '-ap',
      'correct-horse',
    ]);
    expect(code, screen).toBe(0);
    await expect.poll(() => ended, { timeout: 10_000 }).toBe(1);
    expect(server.metrics()).toMatchObject({ dialogs: 0, refused: 1 });
  });

  /** Routes callers whose password is right, and challenges all others. */
  function asksForPassword(algorithms: readonly DigestAlgorithm[]): typeof admit {
    const scope = () => ({
      key: Buffer.alloc(32, 1),
      boundTo: '+15550100',
      algorithms,
      wallTimeMs: systemClock.wallTime(),
    });
    return ({ headers, request_uri: requestUri }) => {
      const verdict = checkDigest(headers['proxy-authorization'], PROOF, {
        ...scope(),
        method: 'INVITE',
        requestUri,
      });
      if (verdict.is === 'right') return route;
      const challenge = { 'Proxy-Authenticate': digestChallenges(scope()) };
      return {
        action: 'reject',
        data: { status: 407, reason: 'Proxy Authentication Required', headers: challenge },
      };
    };
  }

  it('security 22: an MD5-only phone can authenticate if only MD5 is offered', async () => {
    admit = asksForPassword(['MD5']);
    const called = Promise.withResolvers<void>();
    worker.onInvite((invite) => {
      invite.refuse(486);
      called.resolve();
    });
    const phone = await dial(`sip:+15550100@127.0.0.1:${server.sipPort}`, new Int16Array(0), {
      credentials: PASSWORD,
    });
    await called.promise;
    await phone.close();
  });

  it('when a worker dies and no other takes over its calls, the callers get a BYE', async () => {
    worker.onInvite((invite) => void invite.answer(sdp).then(() => worker.close()));
    const { code, screen } = await runSipp('agent-hangs-up', server.sipPort, ['-m', '1']);
    expect(code, screen).toBe(0);
    expect(server.metrics()).toMatchObject({ dialogs: 0, dialogsLost: 1 });
  });

  it.each([
    ['stops ringing', 'ring'],
    ['is hung up on if it answers at that moment', 'answerTooLate'],
  ] as const)('when the worker dies, the phone it is calling %s', async (_, does) => {
    const phone = await startSippPhone({ does });
    const invite = worker.dial({
      toUri: `sip:+4930123456@${phone.address}`,
      fromNumber: '+15550100001',
      sdpOffer: sdp,
      headers: { 'X-Service-Session-Id': 's1' },
      credentials: null,
    });
    invite.answered.catch(() => undefined);
    // The phone is ringing.
    await expect.poll(() => server.metrics().dialogs, { timeout: 10_000 }).toBe(1);
    worker.close();
    const { code, screen } = await phone.ended;
    expect(code, screen).toBe(0);
    await expect.poll(() => server.metrics().dialogs, { timeout: 10_000 }).toBe(0);
  });
});
