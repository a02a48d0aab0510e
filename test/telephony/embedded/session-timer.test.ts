import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header, type SipMessage } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { IncomingInvite, Signalling } from '#telephony/signalling.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { openRawCaller, type RawCaller } from './raw-caller.ts';

const PATIENCE = { timeout: 15_000, interval: 5 };
const OFFER =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';
const ANSWER = OFFER.replace('4000', '5000');

/** The server's clock only advances on request: no retransmission or interval elapses by itself. */
describe('session timers (RFC 4028) and UPDATE (RFC 3311)', () => {
  let clock: ManualClock;
  let server: EmbeddedSignalling;
  let worker: Signalling;
  let caller: RawCaller;
  let invites: IncomingInvite[];
  let offers: string[];
  let hasEnded: boolean;

  beforeEach(async () => {
    clock = new ManualClock();
    [invites, offers, hasEnded] = [[], [], false];
    server = await startTestSignalling({
      clock,
    });
    worker = await connectTestWorker(server);
    worker.onInvite((invite) => invites.push(invite));
    caller = await openRawCaller(server.sipPort);
  });

  afterEach(async () => {
    caller.close();
    worker.close();
    await server.close();
    // A closed server leaves no timer behind.
    expect(clock.pendingTimers).toBe(0);
  });

  const responseTo = (cseq: string) =>
    caller.next(
      (message) =>
        message.start.kind === 'response' && message.start.status >= 200 && header(message, 'cseq') === cseq,
      PATIENCE.timeout,
    );
  const tagOf = (message: SipMessage) => /tag=([^;\s]+)/.exec(header(message, 'to') ?? '')?.[1] ?? '';

  /** Sets up an answered call; resolves with its 200. */
  async function answered(lines: readonly string[]): Promise<SipMessage> {
    caller.request({ body: OFFER, lines });
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    const dialog = await invites[0]!.answer(ANSWER);
    dialog.listen({
      onEnded: () => (hasEnded = true),
      onOffer(sdp) {
        offers.push(sdp);
        return ANSWER;
      },
      makeOffer: () => ANSWER,
      onAnswer: () => undefined,
      onInfo: () => undefined,
    });
    const ok = await responseTo('1 INVITE');
    caller.request({ method: 'ACK', toTag: tagOf(ok) });
    // The next response proves that the ACK before it was processed.
    caller.request({ method: 'INFO', cseq: 2, toTag: tagOf(ok) });
    await responseTo('2 INFO');
    return ok;
  }

  const TIMED = ['Supported: timer', 'Session-Expires: 120', 'Min-SE: 90', 'Allow: INVITE, BYE, UPDATE'];

  it('an accepted interval is kept alive by refreshes; without one, a BYE ends the call just before', async () => {
    const ok = await answered(TIMED);
    expect([header(ok, 'session-expires'), header(ok, 'require'), header(ok, 'supported')]).toEqual([
      '120;refresher=uac',
      'timer',
      'timer, 100rel',
    ]);
    await clock.advance(87_000);
    expect(hasEnded).toBe(false);
    await clock.advance(2_000);
    await caller.incoming('BYE', PATIENCE.timeout);
    await expect.poll(() => hasEnded, PATIENCE).toBe(true);
    expect(server.metrics()).toMatchObject({ dialogs: 0, dialogsLost: 1 });
  });

  it.each([
    ['UPDATE without a description', 'UPDATE', ''],
    ['UPDATE with an offer', 'UPDATE', OFFER.replace('4000', '4002')],
    ['re-INVITE', 'INVITE', OFFER.replace('4000', '4002')],
  ])('a refresh by %s restarts the interval', async (_, method, body) => {
    const toTag = tagOf(await answered(TIMED));
    await clock.advance(60_000);
    caller.request({ method, cseq: 3, toTag, body, lines: TIMED });
    const refreshed = await responseTo(`3 ${method}`);
    expect(refreshed).toMatchObject({ start: { status: 200 }, body: body === '' ? '' : ANSWER });
    expect(header(refreshed, 'session-expires')).toBe('120;refresher=uac');
    expect(offers).toEqual(body === '' ? [] : [body]);
    if (method === 'INVITE') caller.request({ method: 'ACK', cseq: 3, toTag });
    caller.request({ method: 'INFO', cseq: 4, toTag });
    await responseTo('4 INFO');
    await clock.advance(80_000);
    expect(hasEnded).toBe(false);
    await clock.advance(10_000);
    await caller.incoming('BYE', PATIENCE.timeout);
    await expect.poll(() => hasEnded, PATIENCE).toBe(true);
  });

  it('a refresh without an interval ends the timer', async () => {
    const toTag = tagOf(await answered(TIMED));
    caller.request({ method: 'UPDATE', cseq: 3, toTag });
    expect(header(await responseTo('3 UPDATE'), 'session-expires')).toBeNull();
    await clock.advance(600_000);
    expect(caller.requests).toEqual([]);
    expect(server.metrics().dialogs).toBe(1);
  });

  it('an UPDATE goes out at half the interval if we refresh, and the call lasts while it is answered', async () => {
    const ok = await answered([
      'Supported: timer',
      'Session-Expires: 120;refresher=uas',
      'Allow: INVITE, UPDATE',
    ]);
    expect(header(ok, 'session-expires')).toBe('120;refresher=uas');
    await clock.advance(60_000);
    const update = await caller.incoming('UPDATE', PATIENCE.timeout);
    expect(header(update, 'session-expires')).toBe('120;refresher=uac');
    caller.answer(update, 200);
    // The 2xx names no interval, so for the caller the call no longer has one.
    caller.request({ method: 'INFO', cseq: 3, toTag: tagOf(ok) });
    await responseTo('3 INFO');
    await clock.advance(600_000);
    expect(caller.requests).toEqual(['UPDATE']);
    expect(server.metrics().dialogs).toBe(1);
  });

  it('a caller who answers a refresh with 481 has lost the call, which ends at once', async () => {
    await answered(['Supported: timer', 'Session-Expires: 120;refresher=uas', 'Allow: INVITE, UPDATE']);
    await clock.advance(60_000);
    caller.answer(await caller.incoming('UPDATE', PATIENCE.timeout), 481);
    await expect.poll(() => hasEnded, PATIENCE).toBe(true);
    expect(server.metrics().dialogs).toBe(0);
  });

  it.each([
    ['who takes no UPDATE', ['Supported: timer', 'Session-Expires: 120;refresher=uas', 'Allow: INVITE, BYE']],
    ['who asks for none', ['Supported: timer']],
  ])('a caller %s gets no timer', async (_, lines) => {
    expect(header(await answered(lines), 'session-expires')).toBeNull();
    await clock.advance(600_000);
    expect(caller.requests).toEqual([]);
  });

  it('an interval that is too short is rejected with the minimum, within a call as well', async () => {
    caller.request({
      body: OFFER,
      lines: ['Supported: timer', 'Session-Expires: 60'],
      branch: 'z9hG4bK-short',
    });
    const refused = await caller.response(422, PATIENCE.timeout);
    expect(header(refused, 'min-se')).toBe('90');
    expect(invites).toEqual([]);
    caller.request({ method: 'ACK', toTag: tagOf(refused), branch: 'z9hG4bK-short' });
    caller.close();
    caller = await openRawCaller(server.sipPort);
    const toTag = tagOf(await answered(TIMED));
    caller.request({ method: 'UPDATE', cseq: 3, toTag, lines: ['Supported: timer', 'Session-Expires: 60'] });
    expect(await responseTo('3 UPDATE')).toMatchObject({ start: { status: 422 } });
  });

  it('callers may require timers, and OPTIONS announces them', async () => {
    const ok = await answered([...TIMED, 'Require: timer']);
    expect(header(ok, 'require')).toBe('timer');
    caller.request({ method: 'OPTIONS', cseq: 9, callId: 'options' });
    expect(header(await responseTo('9 OPTIONS'), 'supported')).toBe('timer, 100rel');
  });

  it('an UPDATE with an offer before the answer gets 500 and Retry-After (RFC 3311 §5.2)', async () => {
    caller.request({ body: OFFER });
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    invites[0]!.ring();
    const toTag = tagOf(await caller.response(180, PATIENCE.timeout));
    caller.request({ method: 'UPDATE', cseq: 2, toTag, body: OFFER });
    const later = await responseTo('2 UPDATE');
    expect([later.start, header(later, 'retry-after')]).toMatchObject([{ status: 500 }, '2']);
    invites[0]!.refuse(486);
  });
});
