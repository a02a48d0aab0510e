import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { header, type SipMessage } from '#telephony/embedded/message.ts';
import { failOverSipCall } from '#telephony/failover-call.ts';
import { answerInboundCall, type InboundCall } from '#telephony/inbound-call.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { LegLog } from '#test/fakes/leg-log.ts';
import { openLink } from '#test/fakes/link.ts';
import { SilentMedia } from '#test/fakes/silent-media.ts';
import { openRawCaller, type RawCaller } from '../embedded/raw-caller.ts';
import { connectWorker, describeServers, expectDialogs, type SuiteServer } from './servers.ts';

const LONG_MS = 10_000;

/** Workers that are lost and replaced, and a caller who writes every line of SIP. */
describeServers([], 'an answered call whose worker dies', (start, beyond) => {
  let server: SuiteServer;
  let media: SilentMedia;
  let caller: RawCaller;
  let workers: Signalling[];
  let calls: InboundCall[];

  beforeEach(async () => {
    media = new SilentMedia(systemClock);
    workers = [];
    calls = [];
    server = await start();
    caller = await openRawCaller(server.sipPort);
  });

  afterEach(async () => {
    caller.close();
    for (const worker of workers) worker.close();
    await server.close();
  });

  const deps = () => ({
    clock: systemClock,
    media,
    sipHost: '127.0.0.1',
    sipPublicIp: undefined,
    random: Math.random,
  });

  async function openWorker(tag: string, port = server.appPort): Promise<Signalling> {
    const worker = await connectWorker(server, { tag, port });
    workers.push(worker);
    worker.onInvite((invite) => {
      void answerInboundCall(deps(), invite, Promise.resolve({ recordAudio: false })).then((call) =>
        calls.push(call),
      );
    });
    return worker;
  }

  /** Calls and acknowledges the answer; returns the call and our tag. */
  async function answered(): Promise<{
    readonly call: Extract<InboundCall, { outcome: 'answered' }>;
    readonly toTag: string;
  }> {
    const branch = `z9hG4bK-first-${caller.port}`;
    const body = sdp(caller.port);
    // The server may not have received its worker's methods yet.
    await expect.poll(() => workers.every((worker) => worker.isConnected)).toBe(true);
    caller.request({ branch, body });
    const ok = await caller.response(200, LONG_MS);
    const toTag = /tag=([^;]+)/.exec(header(ok, 'to') ?? '')?.[1] ?? '';
    caller.request({ method: 'ACK', toTag });
    await expect.poll(() => calls.length, { timeout: LONG_MS }).toBe(1);
    const [call] = calls;
    if (call?.outcome !== 'answered') throw new Error('not answered');
    return { call, toTag };
  }

  const reinvite = () => caller.incoming('INVITE', LONG_MS);
  const responseTo = (cseq: string) =>
    caller.next(
      ({ start, headers }) =>
        start.kind === 'response' && start.status >= 200 && header({ headers }, 'cseq') === cseq,
      LONG_MS,
    );

  it('re-INVITEs from its new worker with its own tags, a new CSeq and new media; BYE works both ways', async () => {
    const first = await openWorker('worker-1');
    const { call } = await answered();
    const second = await openWorker('worker-2');
    first.close();
    const resuming = failOverSipCall({ ...deps(), signalling: second }, call.dialog, { recording: null });
    const request = await reinvite();
    expect(header(request, 'call-id')).toBe(call.dialog.sipCallId);
    expect(header(request, 'from')).toContain(`tag=${call.dialog.localTag}`);
    expect(header(request, 'to')).toContain('tag=caller');
    expect(originOf(request.body)).toMatchObject({ sessionId: originOf(call.dialog.localSdp).sessionId });
    expect(originOf(request.body).version).toBeGreaterThan(originOf(call.dialog.localSdp).version);
    caller.answer(request, 200, sdp(41_000));
    const resumed = await resuming;
    if (resumed.outcome !== 'answered') throw resumed.error;
    const [before, leg] = media.legs;
    expect(leg?.remotes.at(-1)).toMatchObject({ address: '127.0.0.1', port: 41_000 });
    // Only the second leg knows a caller who was heard before, and may be silent now.
    expect([before?.wasHeard, leg?.wasHeard]).toEqual([undefined, true]);
    resumed.leg.send({ do: 'close' });
    const bye = await caller.incoming('BYE', LONG_MS);
    expect(Number.parseInt(header(bye, 'cseq') ?? '', 10)).toBeGreaterThan(
      Number.parseInt(header(request, 'cseq') ?? '', 10),
    );
    caller.answer(bye, 200);
    await expectDialogs(server, 0);
  });

  beyond('is not hung up on by the worker that no longer has it', async () => {
    const first = await openWorker('worker-1');
    const { call } = await answered();
    const second = await openWorker('worker-2');
    const resuming = failOverSipCall({ ...deps(), signalling: second }, call.dialog, { recording: null });
    caller.answer(await reinvite(), 200, sdp(41_000));
    const resumed = await resuming;
    if (resumed.outcome !== 'answered') throw resumed.error;
    // One that was frozen or cut off: it does not know that its dialog has moved.
    call.leg.send({ do: 'close' });
    const info = () => caller.responses.filter((response) => response === '200 INFO').length;
    caller.request({ method: 'INFO', toTag: call.dialog.localTag, cseq: 7 });
    await expect.poll(info, { timeout: LONG_MS }).toBe(1);
    await expectDialogs(server, 1);
    expect(first.isConnected).toBe(true);
    resumed.leg.send({ do: 'close' });
    caller.answer(await caller.incoming('BYE', LONG_MS), 200);
    await expectDialogs(server, 0);
  });

  beyond('is not taken back by the worker that lost it, when that one connects anew', async () => {
    const link = await openLink(server.appPort);
    try {
      await openWorker('worker-1', link.port);
      const { call } = await answered();
      const log = new LegLog(call.leg);
      const second = await openWorker('worker-2');
      link.cut();
      const resuming = failOverSipCall({ ...deps(), signalling: second }, call.dialog, { recording: null });
      caller.answer(await reinvite(), 200, sdp(41_000));
      const resumed = await resuming;
      if (resumed.outcome !== 'answered') throw resumed.error;
      link.mend();
      await expect.poll(() => log.all('closed').length, { timeout: LONG_MS }).toBe(1);
      expect(caller.requests.filter((method) => method === 'INVITE')).toHaveLength(1);
      expect(caller.requests).not.toContain('BYE');
      await expectDialogs(server, 1);
    } finally {
      await link.close();
    }
  });

  beyond('is not hung up on by a worker that leaves it while its own re-INVITE is open', async () => {
    const link = await openLink(server.appPort);
    try {
      await openWorker('worker-1', link.port);
      const { call } = await answered();
      const second = await openWorker('worker-2');
      link.cut();
      link.mend();
      const request = await reinvite();
      call.leg.send({ do: 'close', keepsDialog: true });
      caller.answer(request, 200, sdp(41_000));
      await caller.next(({ start }) => start.kind === 'request' && start.method === 'ACK', LONG_MS);
      const resuming = failOverSipCall({ ...deps(), signalling: second }, call.dialog, { recording: null });
      const again = await caller.next(
        (message) =>
          message.start.kind === 'request' &&
          isOf(message, 'INVITE') &&
          header(message, 'cseq') !== header(request, 'cseq'),
        LONG_MS,
      );
      caller.answer(again, 200, sdp(41_000));
      expect(await resuming).toMatchObject({ outcome: 'answered' });
      expect(caller.requests).not.toContain('BYE');
    } finally {
      await link.close();
    }
  });

  it('ends as the caller’s own hang-up if the caller has hung up meanwhile', async () => {
    const first = await openWorker('worker-1');
    const { call, toTag } = await answered();
    const second = await openWorker('worker-2');
    first.close();
    // A side without the call refuses, temporarily or for good.
    const isRefused = () =>
      caller.responses.some((response) => response === '500 INFO' || response === '481 INFO');
    await expect
      .poll(
        () => {
          caller.request({ method: 'INFO', toTag, cseq: 2 });
          return isRefused();
        },
        { timeout: LONG_MS },
      )
      .toBe(true);
    caller.request({ method: 'BYE', toTag, cseq: 3 });
    await caller.next((message) => message.start.kind === 'response' && isOf(message, 'BYE'), LONG_MS);
    const resuming = failOverSipCall({ ...deps(), signalling: second }, call.dialog, { recording: null });
    // A server without the dialog sends a re-INVITE to the caller, who has left.
    void reinvite().then(
      (request) => caller.answer(request, 481),
      () => undefined,
    );
    expect(await resuming).toMatchObject({ outcome: 'gone' });
    await expectDialogs(server, 0);
  });

  beyond('is not called back if the caller has hung up meanwhile', async () => {
    const first = await openWorker('worker-1');
    const { call, toTag } = await answered();
    const second = await openWorker('worker-2');
    first.close();
    await expect
      .poll(
        () => {
          caller.request({ method: 'INFO', toTag, cseq: 2 });
          return caller.responses.includes('500 INFO');
        },
        { timeout: LONG_MS },
      )
      .toBe(true);
    caller.request({ method: 'BYE', toTag, cseq: 3 });
    await caller.next(
      (message) => message.start.kind === 'response' && message.start.status === 200 && isOf(message, 'BYE'),
      LONG_MS,
    );
    const again = await failOverSipCall({ ...deps(), signalling: second }, call.dialog, { recording: null });
    expect(again).toMatchObject({ outcome: 'gone' });
    expect(caller.requests).not.toContain('INVITE');
    await expectDialogs(server, 0);
  });

  it('ends as the caller’s own hang-up if the caller no longer knows the call', async () => {
    const first = await openWorker('worker-1');
    const { call } = await answered();
    const second = await openWorker('worker-2');
    first.close();
    const resuming = failOverSipCall({ ...deps(), signalling: second }, call.dialog, { recording: null });
    caller.answer(await reinvite(), 481);
    expect(await resuming).toMatchObject({ outcome: 'gone' });
    await expectDialogs(server, 0);
  });

  it('is hung up if the caller rejects the re-INVITE', async () => {
    const first = await openWorker('worker-1');
    const { call } = await answered();
    const second = await openWorker('worker-2');
    first.close();
    const resuming = failOverSipCall({ ...deps(), signalling: second }, call.dialog, { recording: null });
    caller.answer(await reinvite(), 488);
    expect(await resuming).toMatchObject({ outcome: 'failed' });
    caller.answer(await caller.incoming('BYE', LONG_MS), 200);
    await expectDialogs(server, 0);
  });

  beyond(
    'refuses the caller’s own changes while its re-INVITE is open (491), and takes them afterwards (RFC ' +
      '3261 §14.2)',
    async () => {
      const first = await openWorker('worker-1');
      const { call, toTag } = await answered();
      const second = await openWorker('worker-2');
      first.close();
      const resuming = failOverSipCall({ ...deps(), signalling: second }, call.dialog, { recording: null });
      const request = await reinvite();
      caller.request({ toTag, cseq: 2, branch: 'z9hG4bK-glare', body: sdp(41_001) });
      expect(await responseTo('2 INVITE')).toMatchObject({ start: { status: 491 } });
      caller.request({ method: 'ACK', toTag, cseq: 2, branch: 'z9hG4bK-glare' });
      caller.request({ method: 'UPDATE', toTag, cseq: 3, body: sdp(41_002) });
      expect(await responseTo('3 UPDATE')).toMatchObject({ start: { status: 491 } });
      caller.answer(request, 200, sdp(41_000));
      expect(await resuming).toMatchObject({ outcome: 'answered' });
      caller.request({ method: 'UPDATE', toTag, cseq: 4, body: sdp(41_003) });
      expect(await responseTo('4 UPDATE')).toMatchObject({ start: { status: 200 } });
      expect(media.legs.at(-1)?.remotes.map(({ port }) => port)).toEqual([41_000, 41_003]);
    },
  );

  it('retries when its re-INVITE collides with the caller’s own (RFC 3261 §14.1)', async () => {
    const first = await openWorker('worker-1');
    const { call } = await answered();
    const second = await openWorker('worker-2');
    first.close();
    const resuming = failOverSipCall({ ...deps(), signalling: second }, call.dialog, { recording: null });
    const request = await reinvite();
    caller.answer(request, 491);
    const cseqOf = (message: SipMessage) => Number.parseInt(header(message, 'cseq') ?? '', 10);
    const again = await caller.next(
      (message) => isOf(message, 'INVITE') && cseqOf(message) > cseqOf(request),
      LONG_MS,
    );
    caller.answer(again, 200, sdp(41_000));
    expect(await resuming).toMatchObject({ outcome: 'answered' });
    expect(media.legs.at(-1)?.remotes.at(-1)).toMatchObject({ port: 41_000 });
    expect(caller.requests).not.toContain('BYE');
  });

  it('outlives signalling: the new server learns of it from the worker and forwards the caller’s BYE', async () => {
    await openWorker('worker-1');
    const { call, toTag } = await answered();
    const log = new LegLog(call.leg);
    const ports = { sipPort: server.sipPort, appPort: server.appPort };
    await server.close();
    server = await start(undefined, ports);
    const request = await reinvite();
    // No media has moved: the description is that of the answer.
    expect(request.body).toBe(call.dialog.localSdp);
    caller.answer(request, 200, sdp(caller.port));
    await caller.next(
      (message) => message.start.kind === 'request' && message.start.method === 'ACK',
      LONG_MS,
    );
    expect(log.all('closed')).toEqual([]);
    caller.request({ method: 'BYE', toTag, cseq: 2 });
    await expect
      .poll(() => log.all('closed').map(({ reason }) => reason), { timeout: LONG_MS })
      .toEqual(['remote']);
    await expectDialogs(server, 0);
  });
});

function sdp(port: number): string {
  return (
    `v=0\r\no=caller 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio ${port} ` +
    'RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n'
  );
}

function originOf(description: string): { readonly sessionId: number; readonly version: number } {
  const [, sessionId, version] = /^o=\S+ (\d+) (\d+) /m.exec(description) ?? [];
  return { sessionId: Number(sessionId), version: Number(version) };
}

function isOf(message: SipMessage, method: string): boolean {
  return (header(message, 'cseq') ?? '').endsWith(` ${method}`);
}
